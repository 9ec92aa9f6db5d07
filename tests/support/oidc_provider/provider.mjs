// SPDX-License-Identifier: Apache-2.0
// An OpenID provider on loopback: node provider.mjs PORT REDIRECT_URI, with its people as JSON in PEOPLE.
import { generateKeyPairSync } from 'node:crypto';

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.MODULES}/`));
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const [port, redirectUri] = process.argv.slice(2);
const people = JSON.parse(process.env.PEOPLE);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'aboard',
      client_secret: 'a secret of the tests',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'tests', alg: 'RS256', use: 'sig' }] },
  cookies: { keys: ['only for tests'] },
  pkce: { required: () => true },
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: {
    openid: ['sub'],
    profile: ['name', 'preferred_username'],
    email: ['email', 'email_verified'],
    groups: ['groups'],
  },
  features: { devInteractions: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
});
provider.listen(Number(port), '127.0.0.1');
