# The image that deploy/ names: the program, the libraries that it loads and CA certificates, in an empty root.
#
#   docker build --tag registry.example.com/fedhub:v0.1.0 .
#
# `make image-check` runs the files of the final stage in an empty root, without a container engine.

FROM docker.io/library/rust:1.95-bookworm AS build
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
