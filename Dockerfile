# The service with the bundled models, and the other commands that need no torch:
#
#     docker build --tag fabir .
#     docker run --publish 127.0.0.1:8000:8000 --read-only fabir
#
# docs/deployment.md has more.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY configs configs
COPY src src
# PyStemmer opens indexes that were made with it. pip stays out of the environment, and so does what
# nothing here imports.
ARG EXTRAS=serve
# hadolint ignore=DL3013
RUN python -m venv --without-pip /opt/fabir \
    && pip --python /opt/fabir/bin/python install --no-cache-dir ".[$EXTRAS]" 'PyStemmer>=2.2.0.2' \
    && find /opt/fabir -type d \( -name tests -o -path '*/onnxruntime/transformers' \) -prune \
        -exec rm -r {} +

FROM python:3.13-slim
LABEL org.opencontainers.image.title="fabir" \
      org.opencontainers.image.source="https://github.com/fabir-qa/fabir" \
      org.opencontainers.image.licenses="Apache-2.0 AND CC-BY-SA-4.0"
COPY --from=build /opt/fabir /opt/fabir
# Inside a container other computers ask: publish the port to those that may.
ENV PATH=/opt/fabir/bin:$PATH FABIR_HOST=0.0.0.0
# A number, so that Kubernetes sees that it is not root. It owns nothing and writes nothing.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "\
import os, urllib.request; \
urllib.request.urlopen(f\"http://127.0.0.1:{os.environ.get('FABIR_PORT') or 8000}/health\")"]
ENTRYPOINT ["fabir"]
CMD ["serve"]
