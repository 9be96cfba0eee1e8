package pods

// RunnerLabel is "true" for the pod in which the tests themselves run, which must not move with those that they drain from a node.
const RunnerLabel = "freshet.io/e2e-runner"
