package validity_test

import (
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/apiserver/validity"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// BenchmarkScan reads 5,000 objects of 1.5 KB from an etcd and judges them, with the rests in between. A tenth of them is invalid.
func BenchmarkScan(b *testing.B) {
	const stored = 5000
	crd := &definition.CustomResourceDefinition{}
	yamltest.Into(b, define("boats", "required: [name], x-kubernetes-validations: [{rule: 'self.masts.all(m, m.height < 50)'}], properties: "+
		"{name: {type: string, maxLength: 20}, masts: {type: array, maxItems: 20, items: {type: object, required: [height], properties: "+
		"{height: {type: integer}, sail: {type: string, pattern: '^[a-z]*$', maxLength: 100}}}}}"), crd)
	crd.UID = "boats"
	definition.SetDefaults(crd)
	definition.Write{APIVersion: definition.V1}.Prepare(crd)
	informer := cache.NewSharedIndexInformer(nil, crd, 0, cache.Indexers{})
	if err := informer.GetStore().Add(crd); err != nil {
		b.Fatal(err)
	}
	address := servertest.StartEtcd(b, transport.TLSInfo{})
	writer, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	masts := strings.TrimSuffix(strings.Repeat(`{"height":12,"sail":"`+strings.Repeat("red", 20)+`"},`, 12), ",")
	for i := range stored {
		name := "anna"
		if i%10 == 0 {
			name = "a name that is much too long"
		}
		text := fmt.Sprintf(`{"apiVersion":"valid.example.com/v1","kind":"Boats","metadata":{"name":"b%d","namespace":"default","uid":"4f1c55e0-7c26-4d5f-8f4e-3f3e9a4b7e51",`+
			`"creationTimestamp":"2026-01-01T00:00:00Z","generation":1},"spec":{"name":%q,"masts":[%s]}}`, i, name, masts)
		if _, err := writer.Put(b.Context(), fmt.Sprintf("%s/valid.example.com/boats/default/b%d", storage.KeyPrefix, i), text); err != nil {
			b.Fatal(err)
		}
	}
	client, err := etcd.Connect(b.Context(), etcd.Cluster{Servers: []string{address}})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	c := validity.New(validity.Config{Definitions: informer, Objects: storage.Readable{Client: client}, Interval: 1})
	b.ReportAllocs()
	processor := servertest.ProcessorTime(b)
	rounds := 0
	for b.Loop() {
		rounds++
		objects, invalid, err := c.Examine(b.Context(), crd)
		if err != nil || objects != stored || invalid != stored/10 {
			b.Fatalf("%d objects, %d invalid, %v", objects, invalid, err)
		}
	}
	total := float64(rounds * stored)
	b.ReportMetric(total/b.Elapsed().Seconds(), "objects/s")
	b.ReportMetric(float64((servertest.ProcessorTime(b)-processor).Microseconds())/total, "cpu-µs/object")
}
