package builtin_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// usedEach is how many ConfigMaps, and how many Secrets, each node uses.
const usedEach = 10

// BenchmarkNodeWatches measures what the idle watches of a node cost a server in a
// process of its own: two watches by selection, or one for each object. Each iteration
// is one node: -benchtime 1000x is a thousand nodes.
func BenchmarkNodeWatches(b *testing.B) {
	for name, open := range map[string]func(context.Context, kubernetes.Interface, int) error{
		"selection": watchSelection,
		"objects":   watchObjects,
	} {
		b.Run(name, func(b *testing.B) {
			server := servertest.StartProcess(b, apiserver.Config{DataDir: b.TempDir()})
			client := server.Client(b)
			servertest.AwaitAccount(b, client, metav1.NamespaceDefault)
			each(b, b.N, func(node int) error { return use(b.Context(), client, node) })
			// The writes of the setup left garbage; it is released first.
			before := settled(b, client)
			b.ResetTimer()
			each(b, b.N, func(node int) error { return open(b.Context(), client, node) })
			b.StopTimer()
			after := settled(b, client)
			b.ReportMetric((after.resident-before.resident)/1024/float64(b.N), "KB/node")
			b.ReportMetric((after.heap-before.heap)/1024/float64(b.N), "heap-KB/node")
			b.ReportMetric((after.goroutines-before.goroutines)/float64(b.N), "goroutines/node")
			b.ReportMetric(after.resident/1024/1024, "MB")
		})
	}
}

// each calls do for every node, for 16 nodes at a time.
func each(b *testing.B, nodes int, do func(node int) error) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for node := range nodes {
		group.Go(func() error { return do(node) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// use creates a pod on a node, with objects that only this pod uses.
func use(ctx context.Context, client kubernetes.Interface, node int) error {
	automount := false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", node)}, Spec: corev1.PodSpec{
		NodeName: fmt.Sprintf("node-%d", node), AutomountServiceAccountToken: &automount,
		Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
	}}
	for i := range usedEach {
		name := fmt.Sprintf("used-%d-%d", node, i)
		object := metav1.ObjectMeta{Name: name}
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: object}, metav1.CreateOptions{}); err != nil {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: fmt.Sprintf("c%d", i), VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
			}},
			corev1.Volume{Name: fmt.Sprintf("s%d", i), VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
		)
	}
	_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func watchSelection(ctx context.Context, client kubernetes.Interface, node int) error {
	options := metav1.ListOptions{FieldSelector: fmt.Sprintf("%s=node-%d", usedByNode, node)}
	configMaps, err := client.CoreV1().ConfigMaps("").Watch(ctx, options)
	if err != nil {
		return err
	}
	secrets, err := client.CoreV1().Secrets("").Watch(ctx, options)
	if err != nil {
		return err
	}
	for range usedEach {
		if err := added(configMaps); err != nil {
			return err
		}
		if err := added(secrets); err != nil {
			return err
		}
	}
	return nil
}

func watchObjects(ctx context.Context, client kubernetes.Interface, node int) error {
	for i := range usedEach {
		options := metav1.ListOptions{FieldSelector: fmt.Sprintf("metadata.name=used-%d-%d", node, i)}
		configMap, err := client.CoreV1().ConfigMaps("default").Watch(ctx, options)
		if err != nil {
			return err
		}
		secret, err := client.CoreV1().Secrets("default").Watch(ctx, options)
		if err != nil {
			return err
		}
		if err := added(configMap); err != nil {
			return err
		}
		if err := added(secret); err != nil {
			return err
		}
	}
	return nil
}

func added(w watch.Interface) error {
	if event := <-w.ResultChan(); event.Type != watch.Added {
		return fmt.Errorf("event %q, want ADDED", event.Type)
	}
	return nil
}

// sizes is the memory and the number of goroutines of a server.
type sizes struct{ resident, heap, goroutines float64 }

// settled returns the sizes once they do not fall any more.
func settled(b *testing.B, client kubernetes.Interface) sizes {
	b.Helper()
	last := measure(b, client)
	for range 30 {
		time.Sleep(time.Second)
		now := measure(b, client)
		if now.resident >= last.resident && now.heap >= last.heap {
			return now
		}
		last = now
	}
	return last
}

func measure(b *testing.B, client kubernetes.Interface) sizes {
	b.Helper()
	data, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var s sizes
	wanted := map[string]*float64{
		"process_resident_memory_bytes": &s.resident, "go_memstats_heap_inuse_bytes": &s.heap, "go_goroutines": &s.goroutines,
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if into := wanted[name]; into != nil {
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				b.Fatal(err)
			}
		}
	}
	return s
}
