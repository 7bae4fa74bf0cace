package recording_test

import (
	"fmt"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkWrite measures by how much history makes a write dearer: patches of an object that is on, and of one that is off, of a built-in
// kind and of a custom resource. The clients and the server are in one process.
func BenchmarkWrite(b *testing.B) {
	servertest.Quiet()
	server := servertest.Start(b, apiserver.Config{})
	f := fixture{TB: b, Cluster: server.Cluster(b), server: server}
	f.create(definitions, definition)
	f.awaitResource(boats)
	f.create(deployments, web)
	f.create(deployments, fmt.Sprintf(off, "apps/v1", "Deployment", `{replicas: 1, selector: {matchLabels: {app: web}}, template: `+
		`{metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}`))
	f.create(configMaps, fmt.Sprintf(recorded, "web"))
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: "off", labels: {holdfast.dev/other: fields}}, data: {a: "0"}}`)
	f.create(boats, `{apiVersion: recording.example.com/v1, kind: Boat, metadata: {name: web, labels: {holdfast.dev/history: fields}}, spec: {sails: 1}}`)
	f.create(boats, fmt.Sprintf(off, "recording.example.com/v1", "Boat", "{sails: 1}"))
	for _, kind := range []struct {
		name  string
		patch func(name string, n int)
	}{
		{"ConfigMap", func(name string, n int) { f.patch(configMaps, name, set(fmt.Sprint(n))) }},
		{"Deployment", func(name string, n int) { f.patch(deployments, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)) }},
		{"CustomResource", func(name string, n int) { f.patch(boats, name, fmt.Sprintf(`{"spec":{"sails":%d}}`, n)) }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			n := 1
			with, without := servertest.Compare(b, 100, func() { n++; kind.patch("web", n) }, func() { n++; kind.patch("off", n) })
			b.ReportMetric(float64(with.CPU.Microseconds()), "µs-on")
			b.ReportMetric(float64(without.CPU.Microseconds()), "µs-off")
			b.ReportMetric(with.More(without), "%more")
			b.ReportMetric(with.Bytes-without.Bytes, "B-more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// off is an object that is off, with a label too.
const off = `{apiVersion: %s, kind: %s, metadata: {name: "off", labels: {holdfast.dev/other: fields}}, spec: %s}`
