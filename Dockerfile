# The image that deploy/ names: the program, the libraries that it loads and CA certificates, in an empty root.
#
#   docker build --tag registry.example.com/fedhub:v0.1.0 .
#
# `make image` makes the files of the final stage without a container engine, and `make image-check` runs them in an empty root.
# The first stage is pinned by digest; .github/dependabot.yml keeps it up, and release.yml builds programs in the same image.

FROM docker.io/library/rust:1.95-bookworm@sha256:6258907abe69656e41cd992e0b705cdcfabcbbe3db374f92ed2d47121282d4a1 AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package fedhub
RUN sh deploy/image-root.sh target/release/fedhub /image

FROM scratch
COPY --from=build /image /
# For planes whose kubeconfigs name no CA.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
EXPOSE 8081
ENTRYPOINT ["/fedhub"]
