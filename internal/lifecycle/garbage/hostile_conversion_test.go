package garbage_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// converted is an answer of a conversion webhook: the objects, and the status of the conversion.
type converted struct {
	objects []map[string]any
	status  string
}

// hostileConversions are answers that a broken or hostile conversion webhook gives. Each gets the objects in the desired version.
var hostileConversions = map[string]func(objects []map[string]any) converted{
	"failure": func([]map[string]any) converted { return converted{nil, "Failure"} },
	"nothing": func([]map[string]any) converted { return converted{nil, "Success"} },
	"one too many": func(objects []map[string]any) converted {
		return converted{append(objects, objects[0]), "Success"}
	},
	"other objects": edited(func(meta map[string]any) {
		meta["name"], meta["uid"], meta["namespace"] = "other", "00000000-0000-0000-0000-000000000000", "kube-system"
	}),
	"no finalizers and owners": edited(func(meta map[string]any) { delete(meta, "finalizers"); delete(meta, "ownerReferences") }),
	"deleted":                  edited(func(meta map[string]any) { meta["deletionTimestamp"] = "2020-01-01T00:00:00Z" }),
	"no metadata": func(objects []map[string]any) converted {
		for _, object := range objects {
			delete(object, "metadata")
		}
		return converted{objects, "Success"}
	},
}

// edited returns a conversion that changes the metadata of all objects.
func edited(edit func(meta map[string]any)) func([]map[string]any) converted {
	return func(objects []map[string]any) converted {
		for _, object := range objects {
			if meta, ok := object["metadata"].(map[string]any); ok {
				edit(meta)
			}
		}
		return converted{objects, "Success"}
	}
}

// conversionWebhook is a conversion webhook of Widgets. It is down while its mode is nil.
type conversionWebhook struct {
	*httptest.Server
	mode atomic.Pointer[func([]map[string]any) converted]
}

func newConversionWebhook(t *testing.T) *conversionWebhook {
	w := &conversionWebhook{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.Close)
	return w
}

// clause returns the conversion of a definition, as YAML.
func (w *conversionWebhook) clause() string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	return fmt.Sprintf("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: '%s', caBundle: %s}}}",
		w.URL, base64.StdEncoding.EncodeToString(authority))
}

func (w *conversionWebhook) serve(out http.ResponseWriter, req *http.Request) {
	mode := w.mode.Load()
	if mode == nil {
		http.Error(out, "down", http.StatusInternalServerError)
		return
	}
	var review struct {
		Request struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	for _, object := range review.Request.Objects {
		object["apiVersion"] = review.Request.DesiredAPIVersion
	}
	answer := (*mode)(review.Request.Objects)
	_ = json.NewEncoder(out).Encode(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": map[string]any{
			"uid": review.Request.UID, "convertedObjects": answer.objects, "result": map[string]any{"status": answer.status},
		},
	})
}

// TestHostileConversion deletes custom resources in the foreground while their conversion webhook is down, fails, or answers with
// other metadata. Owners of other kinds are collected meanwhile, and no custom resource is lost. When the webhook answers well, the
// deletion ends.
func TestHostileConversion(t *testing.T) {
	t.Parallel()
	const group = "hostile.example.com"
	tr := newTree(t, shared, "hostile-conversion")
	webhook := newConversionWebhook(t)
	w := shared.defineWidgets(t, group)
	boss := w.create(t, tr.namespace, "boss")
	blocking := ownedBy(boss)
	blocks := true
	blocking.BlockOwnerDeletion = &blocks
	w.create(t, tr.namespace, "part", blocking)
	tr.createWith(t, metav1.ObjectMeta{Name: "part", OwnerReferences: []metav1.OwnerReference{blocking}})
	kept := w.object("kept")
	kept.SetFinalizers([]string{"example.com/keep"})
	kept, err := w.Namespace(tr.namespace).Create(t.Context(), kept, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.setConversion(t, webhook.clause())

	foreground := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &foreground}
	attack := func(name string) {
		for _, version := range []string{"v1", "v2"} {
			for _, widget := range []string{"boss", "kept"} {
				err := w.inVersion(version).Namespace(tr.namespace).Delete(t.Context(), widget, options)
				t.Logf("%s: deletion of %s in %s: %v", name, widget, version, err)
			}
		}
		// Owners of another kind go on.
		tr.create(t, "owner")
		tr.create(t, "child", "!owner")
		tr.delete(t, "owner", foreground)
		waittest.Until(t, name+": the owner of another kind is collected with its child", func() bool {
			_, err := tr.configMaps().Get(t.Context(), "owner", metav1.GetOptions{})
			return notFound(t, err)
		})
		if _, err := tr.configMaps().Get(t.Context(), "child", metav1.GetOptions{}); !notFound(t, err) {
			t.Errorf("%s: the child outlives its owner", name)
		}
	}
	attack("down")
	for name, mode := range hostileConversions {
		webhook.mode.Store(&mode)
		attack(name)
	}

	good := edited(func(map[string]any) {})
	webhook.mode.Store(&good)
	// One of the attacks may have deleted it.
	notFound(t, w.inVersion("v2").Namespace(tr.namespace).Delete(t.Context(), "boss", options))
	waittest.Until(t, "the owner is gone", func() bool {
		_, err := w.inVersion("v2").Namespace(tr.namespace).Get(t.Context(), "boss", metav1.GetOptions{})
		return notFound(t, err)
	})
	for _, version := range []string{"v1", "v2"} {
		list, err := w.inVersion(version).Namespace(tr.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 || list.Items[0].GetUID() != kept.GetUID() || len(list.Items[0].GetFinalizers()) == 0 {
			t.Errorf("in %s: %v, want only the object with the finalizer", version, list.Items)
		}
	}
	tr.wait(t, "")
	if err := shared.CoreV1().Namespaces().Delete(t.Context(), tr.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	released := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := w.Namespace(tr.namespace).Patch(t.Context(), "kept", "application/merge-patch+json", released, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := shared.CoreV1().Namespaces().Get(t.Context(), tr.namespace, metav1.GetOptions{})
		return notFound(t, err)
	})
	w.undefine(t)
}
