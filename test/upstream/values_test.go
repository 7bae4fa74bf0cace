package upstream_test

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// texts are the strings that replace a string: each breaks a rule that some field has, or is a
// good value of some field.
var texts = []string{
	"", "a", "web", "other", "a.b", "example.com", "example.com/name", "example.com/", "/name", "kubernetes.io/name", "UPPER", "a b", "-a", "a-",
	"a_b", "a..b", "*.example.com", "*", "10.0.0.1", "010.0.0.1", "::ffff:10.0.0.1", "fd00::1", "FD00::1", "10.0.0.0/8", "10.0.0.1/8",
	"fd00::/64", "256.0.0.1", "http", "https", "80", "0", "-1", "1Gi", "100m", "50%", "150%", "1.5", "/data", "data", "/a/../b", "../up", "a:b", "None",
	"TCP", "v1", "apps/v1", "a/b/c", "true", "Always", "system:node", "kubernetes.io/tls", "0 * * * *", "@hourly", "Europe/Berlin", "object.a == 1",
	"$(A)", "a=b", "1abc", strings.Repeat("a", 64), strings.Repeat("a", 254), "example.com/" + strings.Repeat("b", 64), "ä", "cpu", "memory",
	"requests.cpu", "hugepages-2Mi", "ephemeral-storage", "example.com/gpu", "pods", "default",
}

var numbers = []int64{0, 1, -1, 2, 3, 5, 10, 80, 100, 101, 443, 1000, 3600, 30000, 65535, 65536, 100000, 1 << 20, 1<<31 - 1}

var quantities = []string{"0", "1", "2", "100m", "1Gi", "2Gi", "64Mi", "-1", "1.5", "500k", "1Ki", "0.5m", "1e3"}

// generator makes values for a schema.
type generator struct {
	*rand.Rand
	models models
	// seen are the strings of the object that is changed. Names that refer to each other are
	// often among them.
	seen []string
}

func pick[T any](r *rand.Rand, values []T) T { return values[r.IntN(len(values))] }

// value returns a random value. Deeper values have fewer optional fields.
func (g *generator) value(schema *spec.Schema, depth int) any {
	resolved, model := g.models.resolve(schema)
	switch short := model[strings.LastIndex(model, ".")+1:]; short {
	case "Quantity":
		return pick(g.Rand, quantities)
	case "IntOrString":
		if g.IntN(2) == 0 {
			return pick(g.Rand, numbers)
		}
		return g.text()
	case "Time":
		return pick(g.Rand, []string{"2024-01-02T03:04:05Z", "2020-01-01T00:00:00Z"})
	case "MicroTime":
		return pick(g.Rand, []string{"2024-01-02T03:04:05.000006Z", "2020-01-01T00:00:00.000000Z"})
	case "Duration":
		return pick(g.Rand, []string{"1s", "10m0s"})
	case "RawExtension", "FieldsV1":
		return manifest{"apiVersion": "example.com/v1", "kind": "Data", "value": "x"}
	}
	if values := enum(resolved); len(values) > 0 && g.IntN(10) > 0 {
		return pick(g.Rand, values)
	}
	switch kind := schemaType(resolved); kind {
	case "string":
		if resolved.Format == "byte" {
			return base64.StdEncoding.EncodeToString([]byte(g.text()))
		}
		return g.text()
	case "integer":
		return pick(g.Rand, numbers)
	case "number":
		return pick(g.Rand, []float64{0, 1.5, -1})
	case "boolean":
		return g.IntN(2) == 0
	case "array":
		list := make([]any, 0, 2)
		for range g.IntN(3) {
			list = append(list, g.value(resolved.Items.Schema, depth+1))
		}
		return list
	case "object":
		return g.object(resolved, model, depth)
	}
	return g.text()
}

func (g *generator) object(schema *spec.Schema, model string, depth int) any {
	object := manifest{}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		for range g.IntN(3) {
			object[g.key()] = g.value(schema.AdditionalProperties.Schema, depth+1)
		}
		return object
	}
	for _, name := range g.models.properties(schema, model) {
		property := schema.Properties[name]
		if !slices.Contains(schema.Required, name) && g.IntN(2+3*depth) > 0 {
			continue
		}
		object[name] = g.value(&property, depth+1)
	}
	return object
}

// text returns a string: one that the object has already, or one of the fixed ones.
func (g *generator) text() string {
	if len(g.seen) > 0 && g.IntN(3) == 0 {
		return pick(g.Rand, g.seen)
	}
	return pick(g.Rand, texts)
}

// key returns the key of a map.
func (g *generator) key() string {
	if g.IntN(2) == 0 {
		return pick(g.Rand, []string{"cpu", "memory", "storage", "pods", "app", "example.com/gpu", "tier"})
	}
	return g.text()
}

func enum(schema *spec.Schema) []any { return schema.Enum }

func schemaType(schema *spec.Schema) string {
	if len(schema.Type) == 0 {
		return ""
	}
	return schema.Type[0]
}
