# Freshet's image: the gateway, which is the program freshet, and the operator. `make image` builds it; the chart's value
# image.repository names it. Both programs are linked statically, so that nothing else is in it.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download
COPY . .
ENV GOCACHE=/go/build
# PostgreSQL's parser is C: as native code it is faster than as WebAssembly.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/build \
    CGO_ENABLED=1 go build -trimpath -buildvcs=false -tags=netgo,osusergo \
        "-ldflags=-s -w -linkmode=external -extldflags=-static" -o /image/usr/local/bin/ ./cli/freshet && \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false "-ldflags=-s -w" -o /image/usr/local/bin/ ./cli/freshet-operator && \
    mkdir -p /image/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ && \
    mkdir -m 1777 /image/tmp && \
    echo 'freshet:x:65532:65532::/:/sbin/nologin' >/image/etc/passwd && \
    echo 'freshet:x:65532:' >/image/etc/group

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title="Freshet" \
      org.opencontainers.image.description="Consistent, fresh analytics beside transactions: gateway and operator" \
      org.opencontainers.image.source="https://github.com/freshet-io/freshet" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /image /
ENV PATH=/usr/local/bin
# By number: a kubelet that is to run no root cannot tell by a name.
USER 65532:65532
ENTRYPOINT ["freshet"]
