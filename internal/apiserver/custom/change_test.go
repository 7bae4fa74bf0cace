package custom_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// soakTime returns how long the test runs: a few seconds by default, minutes in make
// soak.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HOLDFAST_SOAK")
	if text == "" {
		return 3 * time.Second
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}

// TestSoakChanges changes a definition every 100 ms while clients write. Every write is
// validated against exactly one of the schemas.
func TestSoakChanges(t *testing.T) {
	t.Parallel()
	const group = "load.example.com"
	schemas := []string{
		`{type: object, properties: {a: {type: string}, num: {type: integer, maximum: 5}}}`,
		`{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 5}, ` +
			`more: {type: string, default: d}}}`,
	}
	define(t, group, schemas[0])
	ctx, cancel := context.WithTimeout(t.Context(), soakTime(t))
	defer cancel()
	const many = 4
	var clients sync.WaitGroup
	wrong, writes := make(chan error, many), make(chan int, many)
	for i := range many {
		path := fmt.Sprintf("%s/o%d", objectsPath(group), i)
		body := strings.Replace(object(group, "v1", `{a: x, num: 1}`), "name: o", fmt.Sprintf("name: o%d", i), 1)
		shared.must(t, http.StatusCreated, "POST", objectsPath(group), body)
		clients.Go(func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				if err := load(group, path, n%5); err != nil {
					wrong <- err
					break
				}
			}
			writes <- n * 4
		})
	}
	changes := 0
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; changes++ {
		got := step{do: "schema", body: schemas[(changes+1)%2]}.run(t, group)
		if got.code != 200 {
			t.Fatalf("change %d: %s", changes, got.text())
		}
		<-tick.C
	}
	clients.Wait()
	close(wrong)
	close(writes)
	for err := range wrong {
		t.Error(err)
	}
	total := 0
	for n := range writes {
		total += n
	}
	t.Logf("%d changes, %d writes", changes, total)
}

// load sends writes that both schemas accept, writes that both reject, and reads. The
// answers do not depend on which of the schemas is served at the moment.
func load(group, path string, num int) error {
	for _, request := range []struct{ method, path, body, want string }{
		{merge, path, fmt.Sprintf(`{spec: {num: %d}}`, num), "200"},
		{merge, path, `{spec: {num: 9}}`, "422"},
		{merge, path, `{spec: {num: text}}`, "400"},
		{jsonPatch, path, fmt.Sprintf(`[{op: replace, path: /spec/num, value: %d}]`, num), "200"},
		{"GET", objectsPath(group), "", "200"},
	} {
		got, err := shared.do(request.method, request.path, request.body)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(got.text(), request.want) {
			return fmt.Errorf("%s %s: %s", request.method, request.body, got.text())
		}
		if request.method == "GET" || request.want != "200" {
			continue
		}
		spec, _, _ := unstructured.NestedMap(got.object.Object, "spec")
		if more, ok := spec["more"]; spec["a"] != "x" || fmt.Sprint(spec["num"]) != fmt.Sprint(num) || ok && more != "d" {
			return fmt.Errorf("%s %s: the object became %v", request.method, request.body, spec)
		}
	}
	return nil
}
