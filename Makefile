# Two commands do everything: `make demo` and `make test`.
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

# Kept whatever the environment says: hundreds of processes are started here, and pytest would
# rewrite every assertion in each of its workers.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test checks lint types imports collect native unit sandbox-tests spark-tests test-versions test-spark-versions test-spark-own test-airflow test-hdfs test-lakehouse pure-tests pure-alone side-by-side installed-core installed-packages test-busy properties simulate chaos \
	fuzz-native bench bench-rebalance bench-spark bench-poll bench-mirror mirror-traps bench-drain bench-import drain-kills mutants history-full kafka-python-tests golden generated docs sbom manual races-native free-threaded arm wheel wheels clean

# Modules are compiled when they are first loaded, as few of all that is installed ever are.
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --no-compile
NATIVE := $(wildcard zkconsumer/native/_*.p* zkconsumer/native/csrc/*.[ch])
$(STAMP): setup.cfg pyproject.toml setup.py scripts/make-venv scripts/apt-install $(NATIVE)
	scripts/make-venv $(VENV)
	$(PIP) --upgrade pip 'setuptools>=70.1' 'cython>=3.1' # a Python's own pip takes three times as long
	$(MAKE) --no-print-directory --jobs=2 installed-core installed-packages
	touch $@

# Compilers work while pip waits and unpacks.
installed-core:
	$(PY) setup.py --quiet build_ext --inplace

installed-packages:
	ZKCONSUMER_PURE=1 $(PIP) --no-deps --no-build-isolation -e .
	$(PIP) 'zkconsumer[test,lint]'

# A Java and Kerberos for what tests start, installed where that may be done: before lanes run beside
# each other.
PROGRAMS := $(VENV)/.programs
$(PROGRAMS): $(STAMP)
	scripts/need-java $(PY)
	scripts/need-kerberos $(PY)
	touch $@

demo: $(STAMP)
	$(PY) -m zkconsumer demo

test: $(STAMP) side-by-side sandbox-tests pure-alone
	@$(PY) -m tests.support.lane

# Spark waits half of its time, for brokers and for its own triggers: meanwhile the rest computes.
side-by-side: $(STAMP) $(PROGRAMS)
	$(MAKE) --no-print-directory --jobs=2 --output-sync spark-tests types lint imports collect \
		unit pure-tests

checks: $(STAMP)
	$(MAKE) --no-print-directory --jobs=2 --output-sync types lint imports collect

lint: $(STAMP)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .

types: $(STAMP)
	$(VENV)/bin/mypy

imports: $(STAMP)
	$(VENV)/bin/lint-imports

# Each test can be loaded; and the workers that follow need not rewrite its assertions each for itself.
collect: $(STAMP)
	$(PY) -m pytest --collect-only -qq >$(VENV)/collected || { cat $(VENV)/collected; exit 1; }

# Tests must not pass because what they are for was not built. Without a compiler:
# make test ZKCONSUMER_PURE=1
native: $(STAMP)
	scripts/check-native $(PY)

# What fails beside others is repeated alone, and told at the end: docs/decisions/0085.
LANE := $(PY) -m tests.support.lane

# As many at a time as there are processors; where many wait for servers, one more: each process has
# servers of its own, and a module's tests stay together where they share some.
PARALLEL := -n $(shell nproc) --maxprocesses 4
TOGETHER := --dist loadscope --no-loadscope-reorder
BY_MODULE := -n $(shell echo $$(($$(nproc) + 1))) --maxprocesses 4 $(TOGETHER)

# A share of each property's examples, and of the places at which is interrupted: docs/testing.md.
# make unit WHOLE=1
unit: $(STAMP) native
	WHOLE=$(WHOLE) $(LANE) unit -q --durations=15 $(PARALLEL) -m "not sandbox and not docker and not zk and not spark and not airflow and not hdfs and not lakehouse"

# Where no test of these lanes lies: to look through these takes each process twenty seconds.
NO_SERVERS := $(patsubst %,--ignore=tests/%,fuzz golden mutants property simulation spark threads typing unit)

# A Java that starts servers, or Spark, in half the processor time: JVMs are a third of these lanes.
JAVA := $(CURDIR)/build/java
$(JAVA)/.%: $(PROGRAMS)
	$(PY) -m tests.support.class_archives $(JAVA) $* >/dev/null
	touch $@

# The only process of that lane: to load all others takes it ten seconds.
ALONE := $(shell grep -rlE 'mark\.alone\b' --include='test_*.py' --exclude-dir=spark --exclude-dir=threads tests)

WITH_SERVERS := (sandbox or docker or zk) and not spark

sandbox-tests: $(STAMP) $(JAVA)/.kafka
	scripts/need-chromium
	scripts/need-jdk
	JAVA_HOME=$(JAVA) $(LANE) brokers -q --durations=20 $(BY_MODULE) $(NO_SERVERS) -m "$(WITH_SERVERS) and not alone and not matrix"
	$(LANE) alone -q --durations=20 $(ALONE) -m "alone and not spark"

# The cells of matrices (broker versions by what is done there) that sandbox-tests leaves out, since
# others like them run there: ten minutes.
test-versions: $(STAMP) $(JAVA)/.kafka
	JAVA_HOME=$(JAVA) $(PY) -m pytest -q --durations=20 $(BY_MODULE) $(NO_SERVERS) -m "$(WITH_SERVERS) and not alone and matrix"

# On loopback, whatever name this machine bears. Two sessions of Spark at a time: each waits for
# brokers and for its own triggers half of the time.
spark-tests: $(STAMP) $(JAVA)/.spark
	JAVA_HOME=$(JAVA) SPARK_LOCAL_IP=127.0.0.1 $(LANE) spark -q --durations=20 -n 2 $(TOGETHER) \
		-m 'spark and not versions' tests/spark

# Every Spark, each in an environment of its own under build/ (half a gigabyte), and what CI leaves
# out on the project's own: see docs/testing.md. One that fails does not keep the others from running.
# make test-spark-versions SPARKS="3.5 4.0"; one of them alone: make test-spark-3.5
SPARKS ?= 3.4 3.5 4.0 4.1 4.2 4.3 own
EACH_SPARK := tests/spark/test_spark_versions.py tests/spark/test_confluent_avro.py
SPARK_TESTS := $(EACH_SPARK) $(patsubst %,tests/spark/test_%.py,legacy drain drain_engines)
test-spark-versions: $(STAMP)
	@failed=; for version in $(SPARKS); do \
		$(MAKE) --no-print-directory test-spark-$$version || failed="$$failed $$version"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed on Spark:$$failed" >&2; exit 1; fi

test-spark-own: $(STAMP)
	scripts/need-java $(PY)
	SPARK_LOCAL_IP=127.0.0.1 $(PY) -m pytest -q --durations=20 -m 'spark and versions' $(addprefix --ignore=,$(EACH_SPARK)) tests/spark

# Warnings are those of old Sparks about young libraries.
test-spark-%: $(STAMP)
	scripts/need-java $(PY)
	scripts/make-spark-venv build/spark/$* $(PY) $*
	SPARK_LOCAL_IP=127.0.0.1 build/spark/$*/bin/python -m pytest -q --durations=20 -W default -m 'not once' $(SPARK_TESTS)

# The operators of docs/examples/airflow, run by the real Airflow in an environment of its own.
AIRFLOW := build/airflow/bin/python
$(AIRFLOW): tests/airflow/requirements.txt
	$(PY) -m venv --clear build/airflow
	$(AIRFLOW) -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

test-airflow: $(STAMP) $(AIRFLOW)
	AIRFLOW_PYTHON=$(AIRFLOW) $(PY) -m pytest -q -m airflow tests/airflow

# Half a day of 50 groups in one history of the page, on a clock that is a number: half an hour.
# make history-full READ_EVERY=60 HISTORY_MB=64
READ_EVERY ?= 5
HISTORY_MB ?= 1024
history-full: $(STAMP)
	$(PY) -m tests.support.history_full --every $(READ_EVERY) --history-mb $(HISTORY_MB)

# Drains of the local engine in a real HDFS, killed there, too, at every sixteenth step:
# make test-hdfs EVERY=1
EVERY ?= 16
test-hdfs: $(STAMP)
	scripts/need-java $(PY)
	EVERY=$(EVERY) SPARK_LOCAL_IP=127.0.0.1 $(PY) -m pytest -q -m hdfs tests/integration/drain/test_hdfs.py

# Drains that commit to a real Hive metastore, and decode by a real schema registry: five minutes.
test-lakehouse: $(STAMP)
	scripts/need-java $(PY)
	SPARK_LOCAL_IP=127.0.0.1 $(PY) -m pytest -q -m lakehouse tests/integration/drain/test_lakehouse.py

# What becomes another thing in pure Python, once more in it; nothing where all of it was pure. Left
# out are modules that choose the engine themselves (`make unit` has run them with both), and what
# runs the same Python code in both, and takes long; and loops over TCP, which they read as they do
# memory.
PURE_TESTS := tests/unit/fetch tests/unit/streams tests/threads/fetch tests/threads/streams tests/threads/records/test_engine.py \
	--ignore=tests/unit/fetch/test_sizes.py \
	$(patsubst %,tests/property/test_%.py,committed_ranges stream_partitions poison ranges) tests/integration/engine \
	$(patsubst %,tests/integration/connector/test_%.py,commits delivery_modes large_messages)

ifeq ($(filter-out 0,$(ZKCONSUMER_PURE)),)
pure-tests: $(STAMP)
	ZKCONSUMER_PURE=1 $(LANE) pure -q -r fE $(PARALLEL) $(TOGETHER) \
		-m "not alone and not each_chunk and not each_engine" -k "not tcp" $(PURE_TESTS)

pure-alone: $(STAMP)
	ZKCONSUMER_PURE=1 $(LANE) pure-alone -q -r fE -m alone $(PURE_TESTS)
endif

# Every property with seeds that nobody chose, which CI's fixed ones are not: make properties SEEDS=20
# A failing seed replays with: make properties SEEDS=1 SEED=1234567
SEEDS ?= 5
properties: $(STAMP) native
	scripts/properties $(PY) $(SEEDS) $(or $(SEED),random) $(PARALLEL)

# What CI's machine never is: so many endless loops for each processor run beside the lanes.
# make test-busy LOAD=4 LANES="unit sandbox-tests". What is left open tells where it was opened.
LOAD ?= 4
LANES ?= unit sandbox-tests
test-busy: $(STAMP) native
	PYTHONTRACEMALLOC=10 PYTEST_TIMEOUT=600 scripts/busy $(LOAD) $(MAKE) --no-print-directory $(LANES)

# Real faults on real servers, ten minutes of them: make chaos MINUTES=3 SEED=8; TLS=1: our members over TLS
MINUTES ?= 10
chaos: $(STAMP)
	$(PY) -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(TLS),--tls)

# A drain under load, killed so often at random points, then verified: make drain-kills KILLS=10 SEED=8
# With ENGINE=local the one without Spark, which is killed at every step of every format, too, in
# folders and in a bucket; with ENGINE=both each start is by the other engine. FORMATS=delta: of some.
# On Spark in a bucket, by s3a://: make drain-kills PLACES=bucket FORMATS=parquet,json
KILLS ?= 10
FORMATS ?= parquet,json,delta,iceberg
ENGINE ?= spark
PLACES ?= folder
drain-kills: $(STAMP)
ifeq ($(ENGINE),local)
	KILLS=$(KILLS) SEED=$(SEED) FORMATS=$(FORMATS) PLACES=folder,bucket EVERY=1 $(PY) -m pytest -q -s \
		tests/integration/drain/test_local_kills.py \
		tests/integration/drain/test_decoded_drain.py::test_kills_at_any_step_lose_and_repeat_no_dead_letter \
		tests/integration/drain/test_random_kills.py
else
	KILLS=$(KILLS) SEED=$(SEED) FORMATS=$(FORMATS) PLACES=$(PLACES) ENGINE=$(ENGINE) SPARK_LOCAL_IP=127.0.0.1 $(PY) -m pytest -q -s tests/spark/test_drain_kills.py
endif

# A sample of changes to the code that decides delivery, offsets and ownership: does a test notice each?
# make mutants COUNT=500 SEED=1
COUNT ?= 500
mutants: $(STAMP)
	$(PY) -m tests.mutants --count $(COUNT) --seed $(or $(SEED),1) $(ARGS)

# kafka-python's own consumer tests, of three of its versions, fetched from the package index, with
# only their imports changed: make kafka-python-tests ARGS="--broker 2.8.2 --source 3.0.12"
kafka-python-tests: $(STAMP)
	$(PY) -m tests.kafka_python $(ARGS)

SCHEDULES ?= 10000

# Seeded schedules of whole members on an in-memory ZooKeeper, and of members of a coordinator's
# group; a failing seed replays exactly. With COMPILED=1 the latter run in a compiled copy: the same
# histories in half of the time, once some minutes went into compiling.
COORDINATED := $(if $(COMPILED),build/simulator,.)
simulate: $(STAMP)
	$(if $(COMPILED),scripts/compile-simulator $(PY) $(COORDINATED))
	$(PY) -m tests.simulation --jobs $$(nproc) --schedules $(SCHEDULES) --seed $(or $(SEED),0)
	cd $(COORDINATED) && $(abspath $(PY)) -m tests.simulation.coordinated --jobs $$(nproc) \
		--schedules $(SCHEDULES) --seed $(or $(SEED),0)

# Damaged record sets against the native core under sanitizers: make fuzz-native SECONDS=60 SEED=8
# With PLANTS=1 it breaks the core's bounds one by one, and each must be found.
SECONDS ?= 60
fuzz-native: $(STAMP)
	$(PY) -m tests.fuzz $(if $(PLANTS),--plants,--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

# Threads that share buffers of the native core, under sanitizers; PLANTS=1 as above.
races-native: $(STAMP)
	$(PY) -m tests.races $(if $(PLANTS),--plants)

# Threads without a GIL between them, by the interpreter given, which must have none:
# make free-threaded PYTHON=python3.14t SECONDS=60. With TSAN=1 it looks for data races; the interpreter
# must be built by clang with --disable-gil --with-thread-sanitizer, and its sources still be in place.
free-threaded:
	TSAN=$(TSAN) scripts/free-threaded $(or $(PYTHON),python3.14t) --seconds $(SECONDS)

# The native core as an ARM machine runs it, in an emulator, compared with this machine.
ARM_TOOLS := gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
arm: $(STAMP)
	dpkg -s $(ARM_TOOLS) >/dev/null 2>&1 || scripts/apt-install $(ARM_TOOLS)
	$(PY) -m tests.cross aarch64 $(if $(SEED),--seed $(SEED))

# All wheels that are released, in containers: needs Docker or Podman.
wheels: $(STAMP)
	$(PY) -m pip install --quiet --disable-pip-version-check cibuildwheel
	$(VENV)/bin/cibuildwheel --platform linux --output-dir dist

# The sources, and the wheel of one interpreter, without a container: make wheel PYTHON=python3.12
wheel:
	scripts/make-wheel $(or $(PYTHON),python3) dist

# What is printed from the tables of settings and options: pages of docs/, and the types of keyword
# arguments; a test compares them.
generated: $(STAMP)
	$(PY) -m scripts.generate

# The site, of pages and docstrings, into build/site; a warning is an error.
SITE_PY := build/docs/bin/python
$(SITE_PY): setup.cfg
	ZKCONSUMER_PURE=1 scripts/make-venv build/docs
	ZKCONSUMER_PURE=1 $(SITE_PY) -m pip install --quiet --disable-pip-version-check '.[docs]'
	touch $@

docs: $(SITE_PY)
	$(SITE_PY) -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/site

# What an installation with every extra of the product brings along, as CycloneDX:
# dist/zkconsumer.cdx.json
sbom:
	scripts/make-sbom $(or $(PYTHON),python3) dist/zkconsumer.cdx.json

# The manual page, out of the parsers of all commands; a test compares it.
manual: $(STAMP)
	$(PY) scripts/make-manual

# Captures the golden bytes and assignments again from the real brokers and the JVM.
golden: $(STAMP)
	$(PY) -m tests.golden.capture

# Ours beside other clients on a real broker, about an hour: make bench ARGS="--quick"
bench: $(STAMP)
	$(PY) -m tests.benchmarks $(ARGS)

# How long a group stands still, ours and the original's, on the same real ZooKeeper: half an hour.
bench-rebalance: $(STAMP)
	$(PY) -m tests.benchmarks.rebalance --delay-ms 0,2 $(ARGS)

# Spark with our source beside Spark with its own, on an old and a modern broker: 15 minutes.
bench-spark: $(STAMP)
	$(PY) -m tests.benchmarks.spark $(ARGS)

# The poll API beside kafka-python and confluent-kafka on a broker 3.9.1: 25 minutes.
bench-poll: $(STAMP)
	$(PY) -m tests.benchmarks.poll $(ARGS)

# The time of our import, beside those of kafka-python and confluent-kafka: half a minute.
bench-import: $(STAMP)
	$(PY) -m tests.benchmarks.imports $(ARGS)

# Whole drains, landed and proven: the local engine beside Spark with ours and with its own source.
# More than an hour, 20 GB of disk: make bench-drain ARGS="--quick"
bench-drain: $(STAMP)
	$(PY) -m tests.benchmarks.drain $(ARGS)

# Our mirror beside MirrorMaker and MirrorMaker 2: 15 minutes. make bench-mirror ARGS="--rounds 2"
bench-mirror: $(STAMP)
	$(PY) -m tests.benchmarks.mirror $(ARGS)

# Where MirrorMaker is known to lose or double messages: what each mirror does there, as the table of
# docs/mirror.md has it. Ten minutes: make mirror-traps ARGS="--only 0"
mirror-traps: $(STAMP)
	$(PY) -m tests.mirror_faults $(ARGS)

clean:
	rm -rf $(VENV) .venv-bench* build dist *.egg-info
