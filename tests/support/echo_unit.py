# SPDX-License-Identifier: Apache-2.0
"""A program that stands for the process of a board, and tells what reached it. Its arguments: a prefix and a port."""

from __future__ import annotations

import asyncio
import sys

from aiohttp import WSMsgType, web


async def echo(request: web.Request) -> web.Response:
    size = 0
    async for piece in request.content.iter_any():
        size += len(piece)
    headers = [[name, value] for name, value in request.headers.items()]
    return web.json_response({"headers": headers, "size": size, "path": request.raw_path, "method": request.method})


async def cookies(_: web.Request) -> web.Response:
    headers = {"Set-Cookie": "a=b", "Clear-Site-Data": '"*"', "Service-Worker-Allowed": "/", "X-Mine": "kept"}
    return web.Response(text="cookies", headers=headers)


async def away(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": f"http://{request.host}{request.path}/there?x=1"})


async def forever(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    for number in range(10_000):
        await answer.write(f"piece {number}\n".encode())
        await asyncio.sleep(0.05)
    return answer


async def hang(_: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response(text="late")


async def broken(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Length": "100"})
    await answer.prepare(request)
    await answer.write(b"only this")
    assert request.transport is not None
    request.transport.close()
    return answer


async def talk(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=("chat",))
    await socket.prepare(request)
    await socket.send_json({name.lower(): value for name, value in request.headers.items()})
    async for message in socket:
        if message.type is WSMsgType.TEXT and message.data == "bye":
            await socket.close(code=4001)
        elif message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        else:
            await socket.send_bytes(message.data)
    return socket


def main(prefix: str, port: int) -> None:
    app = web.Application(client_max_size=1 << 30)
    for name, handler in {"cookies": cookies, "away": away, "forever": forever, "hang": hang, "broken": broken}.items():
        app.router.add_get(f"{prefix}/{name}", handler)
    app.router.add_get(f"{prefix}/talk", talk)
    app.router.add_route("*", prefix + "/{rest:.*}", echo)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
