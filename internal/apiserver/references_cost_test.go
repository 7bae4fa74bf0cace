package apiserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/yamltest"
)

// referencesSize is the environment variable with the size of BenchmarkReferences, as OBJECTSxWORKLOADS. The default is 100x20, and 20x5 with
// -short.
const referencesSize = "HOLDFAST_REFERENCES"

// referencesClients is how many clients write at the same time.
const referencesClients = 4

// BenchmarkReferences compares the processor time and the memory of two servers, one with the index of references and one without. Each has a process
// of its own, in which no client runs. It prints the figures of all rounds, and their medians:
//
//	HOLDFAST_REFERENCES=10000x2000 go test -run '^$' -bench BenchmarkReferences -benchtime 3x -timeout 1h ./internal/apiserver
func BenchmarkReferences(b *testing.B) {
	objects, workloads := 100, 20
	if testing.Short() {
		objects, workloads = 20, 5
	}
	if text := os.Getenv(referencesSize); text != "" {
		if _, err := fmt.Sscanf(text, "%dx%d", &objects, &workloads); err != nil {
			b.Fatalf("%s=%s: must be OBJECTSxWORKLOADS", referencesSize, text)
		}
	}
	with := apiserver.Config{}
	without := apiserver.Config{WithoutReferences: true, Controllers: lifecycle.Selection{"-" + lifecycle.Collection}}
	names, figures := []string(nil), map[string]*[2][]float64{}
	for round := 0; b.Loop(); round++ {
		// The second server may profit from what the first has done to the machine, so the order changes.
		for i := range 2 {
			side := (i + round) % 2
			for _, f := range measureReferences(b, []apiserver.Config{with, without}[side], objects, workloads) {
				if figures[f.name] == nil {
					names, figures[f.name] = append(names, f.name), &[2][]float64{}
				}
				figures[f.name][side] = append(figures[f.name][side], f.value)
			}
		}
	}
	table := "\n| median (all rounds) | with the index | without |\n|---|---|---|\n"
	for _, name := range names {
		table += fmt.Sprintf("| %s | %s | %s |\n", name, rounds(figures[name][0]), rounds(figures[name][1]))
	}
	b.Log(table)
}

// rounds returns the median of the figures of all rounds, and the figures themselves.
func rounds(all []float64) string {
	var texts []string
	for _, value := range all {
		texts = append(texts, fmt.Sprintf("%.1f", value))
	}
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.1f (%s)", (sorted[(len(sorted)-1)/2]+sorted[len(sorted)/2])/2, strings.Join(texts, ", "))
}

// figure is what was measured in one step.
type figure struct {
	name  string
	value float64
}

// measureReferences starts a server, and measures its processor time while clients write, and its memory after that.
func measureReferences(b *testing.B, config apiserver.Config, objects, workloads int) []figure {
	b.Helper()
	config.DataDir = filepath.Join(b.TempDir(), "data")
	server := servertest.StartProcess(b, config)
	defer server.Kill()
	client := server.Client(b)
	var figures []figure
	step := func(name string, n int, write func(i int) error) {
		before := server.ProcessorTime(b)
		var group errgroup.Group
		for c := range referencesClients {
			group.Go(func() error {
				for i := c; i < n; i += referencesClients {
					if err := write(i); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		figures = append(figures, figure{name + ", s", (server.ProcessorTime(b) - before).Seconds()})
	}
	step(fmt.Sprintf("create %d ConfigMaps", objects), objects, func(i int) error { return createConfigMap(b, client, i) })
	step(fmt.Sprintf("create %d Deployments", workloads), workloads, func(i int) error { return createDeployment(b, client, i, objects) })
	step(fmt.Sprintf("update the references of a Deployment %d times", objects), objects, func(i int) error {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/envFrom/0/configMapRef/name","value":"settings-%d"}]`, (i*7)%objects)
		_, err := client.AppsV1().Deployments("default").Patch(b.Context(), fmt.Sprint("web-", i%workloads), types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	step(fmt.Sprintf("change the status of a Deployment %d times", objects), objects, func(i int) error {
		patch := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, i)
		_, err := client.AppsV1().Deployments("default").Patch(b.Context(), fmt.Sprint("web-", i%workloads), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		return err
	})
	return append(figures, figure{"memory of the process with all objects, MB", float64(residentMB(b, server.PID()))})
}

func createConfigMap(b *testing.B, client kubernetes.Interface, i int) error {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("settings-", i)}, Immutable: ptr.To(true),
		Data: map[string]string{"app.yaml": fmt.Sprintf("%0512d", i)},
	}
	_, err := client.CoreV1().ConfigMaps("default").Create(b.Context(), object, metav1.CreateOptions{})
	return err
}

// createDeployment creates a Deployment with three references.
func createDeployment(b *testing.B, client kubernetes.Interface, i, objects int) error {
	name := func(j int) string { return fmt.Sprint("settings-", (i*3+j)%objects) }
	object := yamltest.Decode[appsv1.Deployment](b, fmt.Sprintf(`
metadata: {name: web-%d}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: 'registry.example.com/web:1.0', envFrom: [{configMapRef: {name: %s}}, {configMapRef: {name: %s}}]}]
      volumes: [{name: v, configMap: {name: %s}}]
`, i, name(0), name(1), name(2)))
	_, err := client.AppsV1().Deployments("default").Create(b.Context(), object, metav1.CreateOptions{})
	return err
}
