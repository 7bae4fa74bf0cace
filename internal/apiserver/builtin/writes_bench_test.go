package builtin_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	benchedConfigMaps = "/api/v1/namespaces/default/configmaps"
	benchedLeases     = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	benchedPods       = "/api/v1/namespaces/default/pods"

	strategicMergePatch = "application/strategic-merge-patch+json"
	mergePatch          = "application/merge-patch+json"

	benchedPod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: web, pod-template-hash: 7d4b9}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: OWNER, controller: true}]}
spec:
  containers:
  - name: main
    image: registry.example.com/fleet/web:1.27.4
    args: [--listen=:8080, --level=info]
    env: [{name: LOG_LEVEL, value: info}, {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    ports: [{name: http, containerPort: 8080}]
    resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
    readinessProbe: {httpGet: {path: /ready, port: http}}
    volumeMounts: [{name: config, mountPath: /etc/web}]
  volumes: [{name: config, configMap: {name: web, optional: true}}]
`
)

// benchedPodStatus returns a patch with the status of a pod that runs.
func benchedPodStatus(n int) []byte {
	at := fmt.Sprintf("2026-01-01T00:%02d:%02dZ", n/60%60, n%60)
	var conditions []string
	for _, kind := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, fmt.Sprintf(`{"type":%q,"status":"True","lastTransitionTime":%q}`, kind, at))
	}
	return fmt.Appendf(nil, `{"status":{"phase":"Running","startTime":%[1]q,"podIP":"10.128.0.7","podIPs":[{"ip":"10.128.0.7"}],"conditions":[%[2]s],`+
		`"containerStatuses":[{"name":"main","image":"registry.example.com/fleet/web:1.27.4","imageID":"sha256:%064[3]d","containerID":"containerd://%064[4]d",`+
		`"ready":true,"started":true,"restartCount":%[4]d,"state":{"running":{"startedAt":%[1]q}}}]}}`, at, strings.Join(conditions, ","), 1, n)
}

// BenchmarkWrites measures requests of one client for objects of built-in kinds, through the whole server. cpu-ns/op is the processor
// time of the whole process: the server, its etcd and the client, which needs very little.
func BenchmarkWrites(b *testing.B) {
	client := newBenchClient(b)
	configMap := configMapOfSettings(0)
	lease := yamltest.JSON(b, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: NAME}, spec: {holderIdentity: a, leaseDurationSeconds: 40, leaseTransitions: 0}}`)
	event := yamltest.JSON(b, `{apiVersion: v1, kind: Event, metadata: {name: NAME}, involvedObject: {kind: Pod, namespace: default, name: web}, reason: Pulled, message: pulled it, type: Normal, source: {component: kubelet}, count: 1}`)
	pod := client.ownedPod(b)
	for _, row := range []struct {
		name string
		// object is created first, unless its path is empty.
		path    string
		object  []byte
		request func(n int, last []byte) servertest.Request
	}{
		{"ConfigMap/create", "", nil, func(n int, _ []byte) servertest.Request {
			return requestTo("POST", benchedConfigMaps, "", withName(configMap, fmt.Sprint("c", n)))
		}},
		{"ConfigMap/get", benchedConfigMaps, configMap, func(int, []byte) servertest.Request {
			return requestTo("GET", benchedConfigMaps+"/own", "", nil)
		}},
		{"ConfigMap/update", benchedConfigMaps, configMap, func(n int, last []byte) servertest.Request {
			return requestTo("PUT", benchedConfigMaps+"/own", "", changed(last, `"generation":"`, n))
		}},
		{"ConfigMap/patch", benchedConfigMaps, configMap, func(n int, _ []byte) servertest.Request {
			return requestTo("PATCH", benchedConfigMaps+"/own", mergePatch, fmt.Appendf(nil, `{"data":{"generation":"%d"}}`, n))
		}},
		{"ConfigMap/apply", "", nil, func(n int, _ []byte) servertest.Request {
			return requestTo("PATCH", benchedConfigMaps+"/applied?fieldManager=bench", "application/apply-patch+yaml", changed(withName(configMap, "applied"), `"generation":"`, n))
		}},
		{"Lease/update", benchedLeases, lease, func(n int, last []byte) servertest.Request {
			return requestTo("PUT", benchedLeases+"/own", "", changed(last, `"leaseTransitions":`, n))
		}},
		{"Event/create", "", nil, func(n int, _ []byte) servertest.Request {
			return requestTo("POST", "/api/v1/namespaces/default/events", "", withName(event, fmt.Sprint("e", n)))
		}},
		{"Pod/create", "", nil, func(n int, _ []byte) servertest.Request {
			return requestTo("POST", benchedPods, "", withName(pod, fmt.Sprint("p", n)))
		}},
		{"Pod/status", benchedPods, pod, func(n int, _ []byte) servertest.Request {
			return requestTo("PATCH", benchedPods+"/own/status", strategicMergePatch, benchedPodStatus(n))
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			var last []byte
			if row.path != "" {
				last = client.send(b, requestTo("POST", row.path, "", withName(row.object, "own")))
				defer client.send(b, requestTo("DELETE", row.path+"/own?gracePeriodSeconds=0", "", nil))
			}
			// The first requests fill caches.
			n := 0
			next := func() {
				n++
				last = client.send(b, row.request(n, last))
			}
			for range 5 {
				next()
			}
			b.ReportAllocs()
			measured, before := n, servertest.ProcessorTime(b)
			for b.Loop() {
				next()
			}
			b.ReportMetric(float64(servertest.ProcessorTime(b)-before)/float64(n-measured), "cpu-ns/op")
		})
	}
}

// benchClient sends prepared requests.
type benchClient struct{ servertest.Sender }

func newBenchClient(b *testing.B) benchClient {
	b.Helper()
	server := servertest.Start(b, apiserver.Config{})
	servertest.AwaitAccount(b, server.Client(b), "default") // pods get a volume with its token
	return benchClient{servertest.NewSender(b, server.Config(b))}
}

// ownedPod returns a pod of a ReplicaSet, which it creates.
func (c benchClient) ownedPod(b *testing.B) []byte {
	b.Helper()
	owner := yamltest.Decode[appsv1.ReplicaSet](b, c.send(b, requestTo("POST", "/apis/apps/v1/namespaces/default/replicasets", "", yamltest.JSON(b, `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: registry.example.com/fleet/web:1.27.4}]}}
`))))
	return bytes.Replace(yamltest.JSON(b, benchedPod), []byte("OWNER"), []byte(owner.UID), 1)
}

func requestTo(method, path, media string, body []byte) servertest.Request {
	return servertest.Request{Method: method, Path: path, Media: media, Body: body}
}

func (c benchClient) send(b *testing.B, r servertest.Request) []byte {
	b.Helper()
	body, _ := c.Send(b, r)
	return body
}

// configMapOfSettings returns a ConfigMap of about 3 KB with values of its own, as JSON.
func configMapOfSettings(n int) []byte {
	var data strings.Builder
	for i := range 30 {
		fmt.Fprintf(&data, `,"setting-%02d.properties":"listen=0.0.0.0:%05d\nlevel=info\nretention=72h\npeers=peer-0,peer-1,peer-2\n"`, i, n)
	}
	return []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME","namespace":"default"},"data":{"generation":"0"` + data.String() + `}}`)
}

func withName(object []byte, name string) []byte {
	return bytes.Replace(object, []byte("NAME"), []byte(name), 1)
}

// changed returns the object with another number behind a key.
func changed(object []byte, key string, n int) []byte {
	at := bytes.Index(object, []byte(key)) + len(key)
	end := at + bytes.IndexAny(object[at:], `",}`)
	return slices.Concat(object[:at], fmt.Appendf(nil, "%d", n), object[end:])
}
