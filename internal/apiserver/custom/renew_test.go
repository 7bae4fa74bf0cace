package custom_test

import (
	"fmt"
	"net/http"
	"testing"
)

// If only the status of a definition changes while the server calls webhooks for a write, the decision about the write holds: the webhooks
// are not called a second time.
func TestStatusChangesDuringWrite(t *testing.T) {
	t.Parallel()
	const group = "renewed.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}}}`)
	hook := &admissionHook{}
	register(t, "ValidatingWebhookConfiguration", group, hook)
	for i, write := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "", object(group, "v1", `{a: x}`), http.StatusCreated},
		{merge, "/o", `{spec: {a: z}}`, http.StatusOK},
	} {
		hook.set("")
		hook.during(func() {
			condition := fmt.Sprintf(`[{op: add, path: /status/conditions/-, value: {type: Test%d, status: "True"}}]`, i)
			shared.must(t, http.StatusOK, jsonPatch, definitions+"/things."+group+"/status", condition)
		})
		shared.must(t, write.code, write.method, objectsPath(group)+write.path, write.body)
		if got := hook.count(); got != 1 {
			t.Errorf("%s: the webhook was called %d times", write.method, got)
		}
	}
}
