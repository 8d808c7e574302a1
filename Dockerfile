# The speaker: Node.js, nft, the bundle and its two native modules.
ARG BASE=node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
# raw-socket is the one module that is compiled.
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 make g++ \
 && rm -rf /var/lib/apt/lists/*
COPY package.json package-lock.json .npmrc ./
RUN if [ -e /usr/local/include/node/node.h ]; then export npm_config_nodedir=/usr/local; fi; \
    npm ci --no-fund --no-audit
COPY tsconfig.json ./
COPY scripts/build.ts scripts/
COPY net net
COPY sys sys
COPY arp arp
COPY bgp bgp
COPY src src
RUN npm run build \
 && mkdir -p /out/node_modules/@koromix /out/node_modules/raw-socket/build/Release \
 && cp dist/*.mjs package.json /out/ \
 && cd node_modules \
 && cp -r koffi /out/node_modules/ \
 && rm -r /out/node_modules/koffi/doc /out/node_modules/koffi/vendor \
 && cp -r @koromix/koffi-linux-* /out/node_modules/@koromix/ \
 && cp raw-socket/package.json raw-socket/index.js /out/node_modules/raw-socket/ \
 && cp raw-socket/build/Release/raw.node /out/node_modules/raw-socket/build/Release/

FROM ${BASE}
LABEL org.opencontainers.image.title="signpost" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
 && apt-get install -y --no-install-recommends nftables \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out /opt/signpost
RUN ln -s /opt/signpost/signpost.mjs /usr/local/bin/signpost \
 && mkdir -p /run/signpost /var/lib/signpost
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-old-space-size=160"
ENTRYPOINT ["signpost"]
CMD ["run"]
