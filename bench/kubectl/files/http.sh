# http.sh: requests that kubectl does not send, through kubectl proxy
kubectl proxy --port="$PORT" >/dev/null 2>&1 &
proxy=$!
trap 'kill $proxy' EXIT
server=http://127.0.0.1:$PORT
until curl -sf "$server/version" >/dev/null; do sleep 0.1; done
for accept in 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' 'application/yaml' \
	'application/vnd.kubernetes.protobuf' 'application/cbor' 'text/html' 'image/png'; do
	for path in /apis /api/v1/namespaces/default; do
		curl -s -o /dev/null -w "$path %{http_code} %{content_type}\n" -H "Accept: $accept" "$server$path"
	done
done
send() {
	curl -s -X "$1" -H "Content-Type: $2" -d "$3" "$server$4" | grep '"message"'
}
send POST text/plain x /api/v1/namespaces
send POST application/json '{' /api/v1/namespaces
send POST application/json '{}' /api/v1/namespaces
send PATCH application/json '{}' /api/v1/namespaces/default
send PUT application/json '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"x"}}' /api/v1/namespaces/default
curl -s -o /dev/null -w '%{http_code}\n' -X OPTIONS "$server/api/v1/namespaces"
