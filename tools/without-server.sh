#!/usr/bin/env bash
# without-server.sh prints the packages of the root module whose tests start no server. Every test that starts our server, or
# etcd alone, links etcd. So it prints the packages whose test binary does not link etcd. Run it at the root of the checkout.
set -euo pipefail

go list -test -f '{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}} {{end}}' ./... |
	grep -E '^[^ ]+\.test ' |
	grep -v ' go\.etcd\.io/etcd/server/v3/embed ' |
	sed -E 's/\.test .*//'
