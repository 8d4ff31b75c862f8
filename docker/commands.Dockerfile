# One image for each of three commands, from the top of the repository:
#   docker build -f docker/commands.Dockerfile --target drain -t zkconsumer-drain .
# and likewise mirror and serve.
FROM python:3.13-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev zlib1g-dev liblz4-dev libzstd-dev \
    && rm -rf /var/lib/apt/lists/*
COPY setup.cfg setup.py pyproject.toml MANIFEST.in README.md LICENSE /src/
COPY zkconsumer /src/zkconsumer
COPY pyspark_zkconsumer /src/pyspark_zkconsumer
# Without the core in C, or without one of its codecs, there is no image.
ENV ZKCONSUMER_NATIVE=1
RUN python -m venv /opt/zkconsumer \
    && /opt/zkconsumer/bin/pip install --no-cache-dir '/src[fast,hdfs,local,lz4,metrics,schemas,web,zookeeper-sasl,zstd]'

FROM python:3.13-slim-bookworm AS base
RUN useradd --system --uid 8380 --create-home --home-dir /var/lib/zkconsumer zkconsumer
COPY --from=build /opt/zkconsumer /opt/zkconsumer
ENV PATH=/opt/zkconsumer/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /var/lib/zkconsumer
USER 8380
STOPSIGNAL SIGTERM

# docker run -v /lake:/lake zkconsumer-drain --zookeeper zk1:2181 --topics orders --to /lake/kafka
# Its exit status says how it went, so there is nothing to ask it meanwhile.
FROM base AS drain
HEALTHCHECK NONE
ENTRYPOINT ["zkconsumer", "drain", "--engine", "local", "--json"]
CMD ["--help"]

# docker run -v mirror:/var/lib/zkconsumer zkconsumer-mirror --zookeeper zk1:2181 --group mirror \
#   --whitelist orders --target-bootstrap-servers new1:9092 --offsets-file mirror.jsonl
FROM base AS mirror
EXPOSE 9308
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9308/metrics', timeout=4)"]
ENTRYPOINT ["zkconsumer", "mirror", "--metrics-port", "9308", "--metrics-host", "0.0.0.0"]
CMD ["--help"]

# docker run -p 8380:8380 -e ZKCONSUMER_TOKEN=... zkconsumer-serve --zookeeper zk1:2181
FROM base AS serve
EXPOSE 8380
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8380/healthz', timeout=4)"]
ENTRYPOINT ["zkconsumer", "serve", "--listen", "0.0.0.0:8380", "--history", "/var/lib/zkconsumer/page.history"]
CMD ["--help"]
