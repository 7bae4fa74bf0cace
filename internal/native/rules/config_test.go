package rules_test

import (
	"encoding/base64"
	"strings"
	"testing"
)

const configKey = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', ` +
	` or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`

func TestConfig(t *testing.T) {
	half := strings.Repeat("x", 1<<19)
	edits{
		"keys": {"data = {a b: x, ..: x}\nbinaryData = {c/d: aGVsbG8=}", `
			data[..]: Invalid value: "..": must not be '..'
			data[a b]: Invalid value: "a b": ` + configKey + `
			binaryData[c/d]: Invalid value: "c/d": ` + configKey},
		"key twice": {
			"binaryData = {app.yaml: aGVsbG8=}",
			`data[app.yaml]: Invalid value: "app.yaml": duplicate of key present in binaryData`,
		},
		"too long in sum": {"data = {a: " + half + ", b: " + half + ", c: x}\nbinaryData =", `[]: Too long: may not be more than 1048576 bytes`},
		"binary counts": {
			"data = {a: " + half + "}\nbinaryData = {b: " + base64.StdEncoding.EncodeToString([]byte(half+"x")) + "}",
			`[]: Too long: may not be more than 1048576 bytes`,
		},
		"exactly one megabyte": {"data = {a: " + half + ", b: " + half + "}\nbinaryData =", ``},
		"no data":              {"data =\nbinaryData =", ``},
	}.run(t, "ConfigMap")

	encoded := base64.StdEncoding.EncodeToString([]byte(half))
	edits{
		"keys": {"type = Opaque\ndata = {a b: eA==}", `data[a b]: Invalid value: "a b": ` + configKey},
		"too long in sum": {
			"type = Opaque\ndata = {a: " + encoded + ", b: " + encoded + ", c: eA==}",
			`data: Too long: may not be more than 1048576 bytes`,
		},
		"tls":           {"data =", "data[tls.crt]: Required value\ndata[tls.key]: Required value"},
		"tls key":       {"data/tls.key =", `data[tls.key]: Required value`},
		"docker config": {"type = kubernetes.io/dockerconfigjson", `data[.dockerconfigjson]: Required value`},
		"old docker":    {"type = kubernetes.io/dockercfg", `data[.dockercfg]: Required value`},
		"docker no json": {
			"type = kubernetes.io/dockerconfigjson\ndata = {.dockerconfigjson: c2VjcmV0}",
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid JSON at byte 1`,
		},
		"docker no object": {
			"type = kubernetes.io/dockerconfigjson\ndata = {.dockerconfigjson: WzFd}",
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be a JSON object`,
		},
		"basic auth":         {"type = kubernetes.io/basic-auth", "data[username]: Required value\ndata[password]: Required value"},
		"password is enough": {"type = kubernetes.io/basic-auth\ndata = {password: eA==}", ``},
		"ssh":                {"type = kubernetes.io/ssh-auth", `data[ssh-privatekey]: Required value`},
		"token": {
			"type = kubernetes.io/service-account-token",
			`metadata.annotations[kubernetes.io/service-account.name]: Required value`,
		},
		"custom type": {"type = example.com/any\ndata =", ``},
	}.run(t, "Secret")
}
