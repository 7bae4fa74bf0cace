package custom_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestChangesUnderLoad changes a definition every 100 ms while clients write: a
// write is judged by one of the schemas, whole, and never by none.
func TestChangesUnderLoad(t *testing.T) {
	const group = "load.example.com"
	schemas := []string{
		`{type: object, properties: {a: {type: string}, num: {type: integer, maximum: 5}}}`,
		`{type: object, properties: {a: {type: string, x-kubernetes-immutable: true}, num: {type: integer, maximum: 5}, more: {type: string, default: d}}}`,
	}
	define(t, group, schemas[0])
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	codes := make(chan string, 64)
	for i := range 4 {
		path := fmt.Sprintf("%s/o%d", objectsPath(group), i)
		shared.must(t, http.StatusCreated, "POST", objectsPath(group), strings.Replace(object(group, "v1", `{a: x, num: 1}`), "name: o", fmt.Sprintf("name: o%d", i), 1))
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				for _, want := range []struct{ body, code string }{
					{fmt.Sprintf(`{spec: {num: %d}}`, n%5), "200"}, {`{spec: {num: 9}}`, "422"}, {`{spec: {num: text}}`, "400"},
				} {
					got, err := shared.do(merge, path, want.body)
					if err != nil || !strings.HasPrefix(got.text(), want.code) {
						codes <- fmt.Sprintf("%s: %s, %v", want.body, got.text(), err)
						return
					}
				}
				if got, err := shared.do("GET", objectsPath(group), ""); err != nil || got.code != 200 {
					codes <- fmt.Sprintf("list: %s, %v", got.text(), err)
					return
				}
			}
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
	close(codes)
	for wrong := range codes {
		t.Error(wrong)
	}
	t.Logf("%d changes", changes)
}
