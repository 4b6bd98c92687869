# The steps of the tested root (tests/full/package.test.mjs): a build, and a clean Debian 12 with the package alone.
#     docker build -t ggscope .        docker run --rm -v "$PWD:/here" -w /here ggscope stats DIR
FROM debian:12 AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends git make ca-certificates dpkg-dev file
COPY . /ggscope
WORKDIR /ggscope
RUN make deb

FROM debian:12
COPY --from=build /ggscope/build/ggscope_*.deb /tmp/
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/ggscope_*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
ENTRYPOINT ["ggscope"]
