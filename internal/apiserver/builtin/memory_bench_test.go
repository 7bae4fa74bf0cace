package builtin_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkMemory measures the live heap that an object adds to a server, with the versions that watches can resume from. The process has
// the server, its etcd and one client. The pods have one owner, and start; the nodes report their status once; the ConfigMaps and Secrets have
// the same keys and other values.
func BenchmarkMemory(b *testing.B) {
	const count = 2000
	var pod []byte
	for _, row := range []struct {
		name   string
		create func(c benchClient, n int)
	}{
		{"ConfigMap", func(c benchClient, n int) {
			c.send(b, requestTo("POST", benchedConfigMaps, "", withName(configMapOfSettings(n), fmt.Sprint("c", n))))
		}},
		{"Secret", func(c benchClient, n int) {
			c.send(b, requestTo("POST", benchedSecrets, "", secretOfSettings(n, fmt.Sprint("s", n))))
		}},
		{"Node", func(c benchClient, n int) {
			name := fmt.Sprint("n", n)
			c.send(b, requestTo("POST", benchedNodes, "", fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"Node","metadata":{"name":%[1]q,"labels":{"kubernetes.io/hostname":%[1]q,"kubernetes.io/os":"linux"}}}`, name)))
			c.send(b, requestTo("PATCH", benchedNodes+"/"+name+"/status", strategicMergePatch, benchedNodeStatus()))
		}},
		{"Pod", func(c benchClient, n int) {
			name := fmt.Sprint("p", n)
			c.send(b, requestTo("POST", benchedPods, "", withName(pod, name)))
			c.send(b, requestTo("PATCH", benchedPods+"/"+name+"/status", strategicMergePatch, benchedPodStatus(n)))
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			client, n := newBenchClient(b), 0
			pod = client.ownedPod(b)
			objects := count
			if testing.Short() {
				objects = 10
			}
			for b.Loop() {
				before := liveHeap()
				for range objects {
					n++
					row.create(client, n)
				}
				b.ReportMetric(float64(liveHeap()-before)/float64(objects), "live-B/object")
			}
		})
	}
}

const (
	benchedSecrets = "/api/v1/namespaces/default/secrets"
	benchedNodes   = "/api/v1/nodes"
)

// secretOfSettings returns a Secret of about 3 KB with values of its own, as JSON.
func secretOfSettings(n int, name string) []byte {
	var data []string
	for i := range 30 {
		value := fmt.Sprintf("listen=0.0.0.0:%05d\nlevel=info\nretention=72h\npeers=peer-0,peer-1,peer-2\n", n)
		data = append(data, fmt.Sprintf(`"setting-%02d.properties":%q`, i, base64.StdEncoding.EncodeToString([]byte(value))))
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,"namespace":"default"},"data":{%s}}`, name, strings.Join(data, ","))
}

// benchedNodeStatus returns a patch with the first status of a node, which has 30 images.
func benchedNodeStatus() []byte {
	const capacity = `{"cpu":"16","memory":"64Gi","pods":"110","ephemeral-storage":"200Gi"}`
	var conditions, images []string
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		conditions = append(conditions, fmt.Sprintf(`{"type":%q,"status":"False","reason":"KubeletHas","message":"kubelet has what it needs",`+
			`"lastHeartbeatTime":"2026-01-01T00:00:01Z","lastTransitionTime":"2026-01-01T00:00:00Z"}`, kind))
	}
	for i := range 30 {
		images = append(images, fmt.Sprintf(`{"names":["registry.example.com/fleet/image-%02[1]d:1.27.4","registry.example.com/fleet/image-%02[1]d@sha256:%064[1]d"],`+
			`"sizeBytes":52428800}`, i))
	}
	return fmt.Appendf(nil, `{"status":{"capacity":%[1]s,"allocatable":%[1]s,"conditions":[%[2]s],"images":[%[3]s],`+
		`"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"machineID":"7b1e","systemUUID":"7b1e","bootID":"7b1e",`+
		`"kernelVersion":"6.8.0","osImage":"Linux","architecture":"amd64","containerRuntimeVersion":"containerd://2.1.0","kubeletVersion":"v1.36.3",`+
		`"kubeProxyVersion":"","operatingSystem":"linux"}}}`, capacity, strings.Join(conditions, ","), strings.Join(images, ","))
}

func liveHeap() int64 {
	// The second collection frees what finalizers of the first one have released.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
