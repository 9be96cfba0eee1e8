# Freshet. Needs Go, npm, git and make; a C compiler makes the SQL parser faster and the tests' race detector possible.
SHELL := /bin/bash
.DEFAULT_GOAL := help

CLUSTER ?= bare

# Package patterns and flags for tests: make test PKG=./gateway/... ARGS='-run TestX -v'. Without PKG all are run, one more
# at a time than there are CPUs, for they wait a good deal, and the longest first, lest they run on alone at the end; those
# that load the whole machine come last, one at a time.
PKG   ?=
ARGS  ?=
LONG  := ./gateway/server ./connectors/debezium ./connectors/cockroachdb ./connectors/postgres
HEAVY := ./e2e/consistency ./e2e/differential/... ./bench/...

HAVE_CC := $(shell command -v $$(go env CC 2>/dev/null))
ifeq ($(HAVE_CC),)
export CGO_ENABLED := 0
RACE :=
else
RACE := -race
# By default what is built with it sleeps for a second before it exits, so that other threads may still report: each package's tests,
# and each gateway and supervisor that tests start from their own program.
export GORACE ?= atexit_sleep_ms=50
endif

# Without what a debugger reads the linker takes half as long: some eighty programs are linked.
# make lint vets all that is tested, and with more checks.
GOTEST := go test $(RACE) -vet=off -ldflags=-w

.PHONY: help
help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: need-go ## Build freshet and freshet-engine into bin/
	@$(if $(HAVE_CC),,echo "no C compiler: the SQL parser runs as WebAssembly, somewhat slower")
	@echo "building bin/freshet and bin/freshet-engine (the first time takes minutes: it compiles PostgreSQL's parser)"
	@mkdir -p bin
	go build -trimpath -o bin/freshet ./cli/freshet
	@ln -sf freshet bin/kubectl-freshet
	CGO_ENABLED=0 go build -trimpath -o bin/freshet-engine ./cli/freshet-engine

.PHONY: demo
demo: need-npm build ## Transactions and analytics side by side [DURATION=60s WAREHOUSES=2 REPORT=FILE CDC=direct]
	@bin/freshet demo $(if $(DURATION),--duration $(DURATION)) $(if $(WAREHOUSES),--warehouses $(WAREHOUSES)) $(if $(CDC),--cdc $(CDC)) $(if $(REPORT),--report "$(REPORT)")

# What runs Kafka, and the tags of tests with it.
HAVE_KAFKA := $(and $(shell command -v java),$(shell command -v mvn))
TAGS       := $(if $(HAVE_KAFKA),-tags kafka)

# Kafka Connect does not run for long enough in tests to be worth the second compiler, which took a fifth of their time.
test test-kafka test-kafka-faults: export JAVA_TOOL_OPTIONS ?= -XX:TieredStopAtLevel=1

.PHONY: test
test: need-go need-npm ## All tests that need no Kubernetes, with real servers; those of Kafka where Java and Maven are [PKG=./... ARGS=]
	@$(if $(RACE),,echo "no C compiler: the tests run without the race detector")
	@$(if $(HAVE_KAFKA),,echo "no Java or no Maven: the tests of Kafka are left out; make test-kafka tells what to install")
ifneq ($(PKG),)
	$(GOTEST) $(TAGS) -timeout 20m $(PKG) $(ARGS)
else
	$(GOTEST) $(TAGS) -timeout 30m -p $$(($$(nproc) + 1)) $(LONG) $$(go list ./... | grep -vE '/(e2e/(consistency|differential|kafkafaults)|bench)(/|$$)') $(ARGS)
	$(GOTEST) $(TAGS) -timeout 40m -p 1 $(HEAVY) $(ARGS)
endif

SEED    ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
QUERIES ?= 20000

.PHONY: test-random
test-random: need-go need-npm ## Random queries of a new seed against PostgreSQL; reproducers in out/ [QUERIES=20000 SEED=]
	@mkdir -p out/random
	go test -count 1 -timeout 0 -run ColumnarRoute ./e2e/differential -v -queries $(QUERIES) -for 24h -seed $(SEED) -reproducers "$(CURDIR)/out/random"

.PHONY: test-kafka
test-kafka: need-go need-npm ## The tests of Kafka, Connect and Debezium; needs Java 17 and Maven
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Java or Maven is missing: install a JDK 17 and Maven (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless maven)"; exit 1; }
	$(GOTEST) -tags kafka -timeout 30m ./connectors/debezium/... ./connectors/cockroachdb/... ./connectors/kafka/... ./local/kafka/... ./operator/internal/pipeline/... $(ARGS)

.PHONY: test-kafka-faults
test-kafka-faults: need-go need-npm ## Kills of broker, Connect and all others under load; 4 to 12 minutes
	$(GOTEST) -tags kafka -timeout 40m -p 1 ./e2e/kafkafaults/... $(ARGS)

.PHONY: test-operator
test-operator: need-go ## The operator on a real API server; builds it from source once (8 to 18 minutes); needs Maven and pip
	@programs=$$(go run ./e2e/kubebin/build) && export $$programs && \
	$(GOTEST) -tags kubernetes -timeout 20m ./operator/... ./bench/operator/... $(ARGS)

# The image of Kafka takes a JDK and Maven: it is left out where ARGS leaves its test out.
E2E_IMAGES := --images kafka
ifneq ($(findstring -test.skip Kafka,$(ARGS)),)
E2E_IMAGES :=
else ifneq ($(findstring -test.run,$(ARGS)),)
E2E_IMAGES := $(if $(findstring Kafka,$(ARGS)),--images kafka)
endif

.PHONY: e2e
e2e: need-go need-npm ## The operator on running pods, on a Kubernetes that this makes (as root), in kind (in Docker), or on the kubeconfig's [CLUSTER=bare|kind|current REGISTRY= ARGS=]; needs a JDK 17, Maven and pip
ifeq ($(CLUSTER),bare)
	@mkdir -p bin
	CGO_ENABLED=0 go test -tags e2e -c -o bin/e2e.test ./e2e/pods
	go build -trimpath -o bin/freshet ./cli/freshet && ln -sf freshet bin/kubectl-freshet
	go build -o bin/cluster ./e2e/cluster/run
	cd e2e/pods && ../../bin/cluster --nodes 2 $(E2E_IMAGES) -- ../../bin/e2e.test -test.v -test.parallel 3 -test.timeout 30m $(ARGS)
else ifeq ($(CLUSTER),kind)
	go run ./e2e/pods/launch --kind $(E2E_IMAGES) -- -test.timeout 60m $(ARGS)
else ifeq ($(CLUSTER),current)
	go run ./e2e/pods/launch $(if $(REGISTRY),--registry $(REGISTRY) $(E2E_IMAGES)) -- -test.timeout 60m $(ARGS)
else
	@echo "CLUSTER is bare, kind or current, not $(CLUSTER)"; exit 1
endif

.PHONY: test-images
test-images: need-go need-npm ## The images of the tests on Kubernetes, each on its own, without Kubernetes; needs a JDK 17, Maven and pip; root
	go test -tags kubernetes -count 1 -timeout 20m ./e2e/images/... $(ARGS) # what is in the images is no part of what Go caches by

IMAGE ?= freshet:dev

.PHONY: image
image: ## Freshet's image, with Docker [IMAGE=freshet:dev]
	@command -v docker >/dev/null || { echo "docker is missing: install it; the tests on Kubernetes build their images without"; exit 1; }
	docker build --build-arg VERSION=$(lastword $(subst :, ,$(IMAGE))) --tag $(IMAGE) .

.PHONY: generate
generate: need-go ## CRDs, deep copies and docs/api.md from the API's types
	go generate ./operator/...

.PHONY: bench
bench: need-npm build ## All benchmarks that need no Kafka; results in out/
	@mkdir -p out
	@for b in ch reports staleness light apply scan shares relay; do \
		echo "== freshet bench $$b"; \
		bin/freshet bench $$b --json out/$$b.json --html out/$$b.html || exit 1; \
	done

.PHONY: bench-operator
bench-operator: need-go ## The operator with 200 clusters and 1,000 nodes on a real API server; results in out/
	@mkdir -p bin out
	go build -trimpath -o bin/freshet-operator ./cli/freshet-operator
	go run ./bench/operator/run --json out/operator.json --html out/operator.html $(ARGS)

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: lint
lint: need-go ## gofmt, go vet and golangci-lint
	@unformatted=$$(git ls-files '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet -tags kafka,kubernetes,e2e ./...
	@$(MAKE) --no-print-directory generate && git diff --exit-code -- charts/freshet/crds operator/api docs/api.md || { echo "generated files differ from the API's types: make generate, and commit"; exit 1; }
	$(GOLANGCI) run --timeout 10m --build-tags kafka,kubernetes,e2e

.PHONY: need-go need-npm
need-go:
	@command -v go >/dev/null || { echo "go is missing: install Go $$(awk '/^go /{print $$2}' go.mod) or later"; exit 1; }
need-npm:
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js with npm (Debian, Ubuntu: apt-get install npm)"; exit 1; }
