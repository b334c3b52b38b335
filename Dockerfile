# kb with git, as a user without rights. The context is a checkout; nothing is looked up by kb's name.
#
#   docker build -t kb .                              # --build-arg EXTRAS=wiki,mcp for more than the core
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/work" kb check
ARG PYTHON=3.12-slim-bookworm

FROM python:${PYTHON} AS build
ARG EXTRAS=""
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md ./
COPY docs/kb.1 docs/kb.1
COPY kb kb
RUN python -m venv /opt/kb \
    && /opt/kb/bin/python -m pip install --no-cache-dir --no-compile "/src${EXTRAS:+[$EXTRAS]}"

FROM python:${PYTHON}
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home kb \
    && install -d -o kb -g kb /data
COPY --from=build /opt/kb /opt/kb
# A home that any user may write to: `-u` names one that this image does not know.
ENV PATH="/opt/kb/bin:$PATH" HOME=/tmp PYTHONUTF8=1
USER kb
WORKDIR /work
ENTRYPOINT ["kb"]
CMD ["--help"]
