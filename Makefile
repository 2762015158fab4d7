.DEFAULT_GOAL := help

# Three packages at a time even where there are more cores: the tests with real
# servers wait for sessions to time out and start JVMs, and the more of those
# compete, the less the times that the tests bound mean. Within a package eight
# tests may run side by side: those that say so mostly wait.
TESTFLAGS ?= -shuffle=on -timeout=20m -p=3 -parallel=8
STRESSFLAGS ?= -shuffle=on -timeout=60m -p=1
STRESSCOUNT ?= 100
FUZZTIME ?= 10s
TORTURE ?= 5m
SOAK ?= 1h
CHAOS ?= 10m
NODES ?= 3
SEED ?= 0
# Each costs a minute of processor time at first, for the standard library, and a
# second or two from then on.
PORTS ?= darwin/arm64 freebsd/amd64 windows/amd64 js/wasm linux/386 linux/arm
# What is run without the race detector as well. Of faults at frames one in 32 is run
# with it; the walks have one goroutine.
EXHAUSTIVE := ^Test(Walk|[A-Za-z]*Faults)$$
# Each connection of go-zookeeper allocates 3 MB, and the tests make thousands: most of
# what the collector does is for that.
GOGC ?= 400
# The packages that take longest go first, so that none of them is left alone at the end.
PACKAGES := ./lock ./rwlock ./members ./config ./coord ./...
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Where tests look for Debian's zookeeper.jar; ZOOKEEPER_HOME, an unpacked
# release, comes before it.
export ZOOKEEPER_JARS ?= /usr/share/java

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## run the tour on an in-process server; needs Go alone
	go run ./examples/tour

.PHONY: check
check: ## formatting, vet here and for PORTS, staticcheck, go.mod
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "gofmt needed: $$unformatted"; exit 1; }
	go vet ./...
	@# Elsewhere nothing is run, but all of it must build, tests included.
	@for port in $(PORTS); do \
		echo "go vet ./... for $$port"; \
		GOOS=$${port%/*} GOARCH=$${port#*/} go vet ./... || exit; \
	done
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	@# A module of its own, for Linux alone, because of what it compares with.
	cd bench && go vet ./... && go run $(STATICCHECK) ./... && go mod tidy -diff
	@# Another, because of what it checks with.
	cd internal/history/linear && go vet ./... && go run $(STATICCHECK) ./... && go mod tidy -diff

.PHONY: test
test: ## all tests, with the race detector; installs what it needs from Debian if it may
	@# The exit status is that of go test; the last line is for those who read no more.
	@missing=$$(.ci/zookeeper) || exit; \
	$(MAKE) --no-print-directory --keep-going --jobs=2 test-race test-exhaustive; status=$$?; \
	test -z "$$missing" || echo "TESTS WERE SKIPPED: $$missing"; \
	exit $$status

.PHONY: test-race
test-race:
	GOGC=$(GOGC) go test -race $(TESTFLAGS) -skip '^TestWalk(FindsFaults)?$$' $(PACKAGES)

.PHONY: test-exhaustive
test-exhaustive: # in the time that the others leave: it waits for nothing, and bounds no times
	GOGC=$(GOGC) nice -n 19 go test $(TESTFLAGS) -run '$(EXHAUSTIVE)' \
		$$(grep -rlE --include='*_test.go' 'func Test(Walk|[A-Za-z]*Faults)\(' . | xargs -n1 dirname | sort -u)

.PHONY: test-bench
test-bench: ## the tests of the benchmark, which is a module of its own
	.ci/zookeeper
	cd bench && go test ./...

.PHONY: test-linear
test-linear: ## the tests of the search for linear orders, which is a module of its own
	cd internal/history/linear && go test ./...

.PHONY: test32
test32: ## the tests in bubbles, as 32-bit programs; where amd64 can run those of 386
	@# Where no server is found its tests are skipped.
	GOARCH=386 ZOOKEEPER_HOME= ZOOKEEPER_JARS=/nonexistent REQUIRE_ZOOKEEPER= go test -timeout=20m -skip '^(TestWalk|TestSnippetsCompile)$$' ./...

.PHONY: stress
stress: ## long forms of the real-server tests, many rounds of the others
	.ci/zookeeper
	ZKCOORD_STRESS=1 go test -race $(STRESSFLAGS) -skip '^TestWalk$$' ./...
	ZKCOORD_STRESS=1 go test $(STRESSFLAGS) -run '^TestWalk$$' ./internal/...
	$(MAKE) --no-print-directory pairs
	@# With the smallest margin between a loss and the next grant.
	ZKCOORD_STRESS=1 go test -race $(STRESSFLAGS) -v -run 'NoOverlap|IsolatedLeader' ./lock ./rwlock ./members | grep -E 'margin|^(ok|FAIL|---)'
	@# Where no server is found its tests are skipped, which leaves those in bubbles.
	@# The walk is long and has no chance in it.
	ZOOKEEPER_HOME= ZOOKEEPER_JARS=/nonexistent REQUIRE_ZOOKEEPER= go test -race $(STRESSFLAGS) -skip '^TestWalk$$' -count=$(STRESSCOUNT) ./...

.PHONY: torture
torture: ## simulated days under faults, for TORTURE (5m); SEED= or SCRIPT= plays one again
	@TORTURE=$(TORTURE) SEED=$(SEED) SCRIPT=$(abspath $(SCRIPT)) GOGC=$(GOGC) \
		go test ./internal/sim -run '^TestTorture$$' -count=1 -timeout 0 -v

.PHONY: mutants
mutants: ## put faults into the library, one at a time, and see that a test catches each
	go run ./internal/mutation -write

.PHONY: mutants-sample
mutants-sample: # other ones each day
	go run ./internal/mutation -sample 3 -for 20s -timeout 20s

.PHONY: pairs
pairs: SHELL := bash
pairs: .SHELLFLAGS := -o pipefail -c
pairs: ## all faults in pairs, at each frame and behind it, and how many cases; hours
	@# ZKCOORD_PAIRS=0/100 make pairs tries the first hundredth.
	ZKCOORD_STRESS=1 GOGC=$(GOGC) go test $(STRESSFLAGS) -timeout=24h -v -run 'Faults$$' \
		$$(grep -rlE --include='*_test.go' 'harness.Faults\(|locktest.Faults\(' . | xargs -n1 dirname | sort -u) \
		| grep -E 'one fault: |--- FAIL|^(ok|FAIL|panic)|\.go:[0-9]+: [^0-9]'

.PHONY: chaos
chaos: ## hurt NODES (3 or 5) real servers and 20 client processes for CHAOS (10m), with SEED; needs root
	.ci/zookeeper
	go run ./internal/chaos/cmd/chaos -nodes $(NODES) -for $(CHAOS) -seed $(SEED)

.PHONY: fuzz
fuzz: ## each fuzz test for FUZZTIME (10s)
	@for pkg in $$(go list ./...); do \
		names=$$(go test -list '^Fuzz' $$pkg) || exit; \
		for name in $$(echo "$$names" | grep '^Fuzz'); do \
			echo "$$pkg $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg || exit; \
		done; \
	done

.PHONY: soak
soak: ## all recipes for SOAK (1h), with a fault a minute: does anything grow? In soak.out
	.ci/zookeeper
	go build -o soak.out/soak ./internal/soak
	soak.out/soak -for $(SOAK) -out soak.out

.PHONY: bench
bench: ## measure beside other clients, 5 minutes; the report is in bench/out
	cd bench && go run .

.PHONY: bench-full
bench-full: ## the same with all sizes and clients, over an hour
	cd bench && go run . -full -rounds 3 -limit 3h

.PHONY: profile
profile: ## CPU profile of a hand-over among 128, in handover.prof
	cd bench && go run . -w handover -n 128 -peers floor,zkcoord -rounds 1 -secs 10s -cpuprofile ../handover.prof -out out/profile
	go tool pprof -top -nodecount=30 handover.prof

.PHONY: micro
micro: ## Go benchmarks of the parts, with their allocations
	go test -run '^$$' -bench . -benchmem ./coord ./internal/...
