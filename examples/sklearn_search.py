# SPDX-License-Identifier: Apache-2.0
"""scikit-learn: the curves of a fit, and a run for each candidate of a search."""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from aboard import Run
from aboard.integrations.sklearn import log_fit, log_search

random = np.random.default_rng(0)
inputs = random.normal(size=(200, 4))
targets = (inputs.sum(axis=1) > 0).astype(int)

network = MLPClassifier(hidden_layer_sizes=(8,), max_iter=200, tol=1e-2, random_state=0).fit(
    inputs[:150], targets[:150]
)
log_fit(network, inputs[150:], targets[150:], run=Run())

pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
search = GridSearchCV(pipeline, {"decisiontreeclassifier__max_depth": [1, 3]}, cv=3).fit(inputs, targets)
print(log_search(search, experiment="depths"))
