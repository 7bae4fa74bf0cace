package text

import (
	"fmt"
	"strings"
	"testing"
)

// usual are texts that clients of Kubernetes send, by the client.
var usual = map[string]string{
	"kubectl apply, first": `{"apiVersion":"sea.example.com/v1","kind":"Ship","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` +
		`"{\"apiVersion\":\"sea.example.com/v1\",\"kind\":\"Ship\",\"metadata\":{\"annotations\":{},\"name\":\"a\"},\"spec\":{\"size\":3}}\n"},` +
		`"name":"a","namespace":"default"},"spec":{"size":3}}` + "\n",
	"kubectl apply, patch":    `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}\n"}},"spec":{"size":4,"old":null}}`,
	"kubectl scale":           `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","creationTimestamp":null},"spec":{"replicas":3},"status":{"replicas":0}}`,
	"kubectl edit, indented":  "{\n    \"apiVersion\": \"sea.example.com/v1\",\n    \"kind\": \"Ship\",\n    \"spec\": {\n        \"crew\": [\n            \"ann\",\n            \"ben\"\n        ]\n    }\n}\n",
	"curl with Windows lines": "{\r\n\t\"apiVersion\": \"v1\",\r\n\t\"kind\": \"Ship\"\r\n}\r\n",
	"client-go, typed object": `{"kind":"Ship","apiVersion":"sea.example.com/v1","metadata":{"name":"a","namespace":"default","uid":"0f3b2c1e-1111-4222-8333-444455556666",` +
		`"resourceVersion":"12345","generation":2,"creationTimestamp":"2026-11-15T02:00:00Z","deletionTimestamp":null,"labels":{"app.kubernetes.io/name":"ship"},` +
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u","controller":true,"blockOwnerDeletion":true}],` +
		`"finalizers":["sea.example.com/harbour"],"managedFields":[{"manager":"controller","operation":"Update","apiVersion":"sea.example.com/v1",` +
		`"time":"2026-11-15T02:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:finalizers":{".":{},"v:\"sea.example.com/harbour\"":{}}},` +
		`"f:spec":{"f:crew":{"k:{\"name\":\"ann\"}":{".":{},"f:name":{}}}}},"subresource":"status"}]},"spec":{"size":3,"ratio":0.75,"crew":[{"name":"ann"}]},` +
		`"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":2,"lastTransitionTime":"2026-11-15T02:00:00Z","reason":"Docked","message":""}]}}` + "\n",
	"status patch of a controller": `{"status":{"conditions":[],"observedGeneration":9007199254740993,"load":{"1m":-0.5,"max":1e+06}}}`,
	"names in many languages":      `{"kind":"Ship","spec":{"name":"日本丸","note":"größer \u0026 schneller","icon":"🚢","path":"a\/b","tab":"a\tb"}}`,
	"HTML escapes of Go":           `{"kind":"Ship","spec":{"query":"a \u003c b \u0026\u0026 c \u003e d","separator":"\u2028"}}`,
	"empty values":                 `{"kind":"Ship","metadata":{},"spec":{"":"","list":[],"object":{},"nothing":null,"on":true,"off":false,"zero":0,"below":-0}}`,
	"an embedded schema":           `{"kind":"Package","spec":{"schema":` + strings.Repeat(`{"properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60) + `}}`,
	"a large list":                 `{"kind":"Ship","spec":{"ports":[` + strings.Repeat(`{"name":"http","port":8080},`, 5000) + `{"port":1}]}}`,
	"many keys":                    `{"data":{` + manyKeys(2000) + `}}`,
	"a long text":                  `{"data":{"script":"` + strings.Repeat(`echo \"$HOME\"\n`, 10000) + `"}}`,
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"key-%d":"value"`, i)
	}
	return strings.Join(keys, ",")
}

// TestUsual fails if JSON gives up on a text that clients of Kubernetes usually send. The server would then be slow without any other
// sign.
func TestUsual(t *testing.T) {
	t.Parallel()
	for name, data := range usual {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var format JSON
			if _, ok := format.read([]byte(data)); !ok {
				t.Errorf("JSON gives up on %.500s", data)
			}
		})
	}
}

// TestUnusual checks that TestUsual can fail: JSON gives up on these texts.
func TestUnusual(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"a":1,"a":2}`, `{"a":1`, `[]`, ``, `{"a":1e400}`, strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300)} {
		var format JSON
		if obj, ok := format.read([]byte(data)); ok {
			t.Errorf("JSON decodes %.100s to %v", data, obj)
		}
	}
}
