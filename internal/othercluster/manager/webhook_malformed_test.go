package manager_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/othercluster/manager"
)

// TestWebhookMalformed has reviews without a valid Instance.
func TestWebhookMalformed(t *testing.T) {
	t.Parallel()
	checkAnswers(t, map[string]answered{
		"no object": {
			review{operation: "CREATE"}, `Bad Request: review: request.object: required`,
		},
		"a spec of another type": {
			review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: 3}`},
			`Bad Request: instance tok: `,
		},
	})
}

// TestBadReviews checks the responses to requests that are not reviews.
func TestBadReviews(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contentType, body, want string
	}{
		"another content type": {"text/plain", `{}`, `content type "text/plain": must be application/json`},
		"not JSON":             {"application/json", `{`, `review: unexpected EOF`},
		"another version": {
			"application/json",
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}`,
			`must be AdmissionReview of admission.k8s.io/v1`,
		},
		"no request": {
			"application/json; charset=utf-8",
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
			`review: request: required`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := post(t, manager.MutatePath, test.contentType, []byte(test.body))
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), test.want) {
				t.Errorf("%d: %s", answer.Code, answer.Body)
			}
		})
	}
}

// FuzzWebhook sends any body and expects either status 400 or a well-formed response
// with the UID of the request.
func FuzzWebhook(f *testing.F) {
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",` +
		`"resource":{"group":"kudo.dev","resource":"instances"},"object":{"kind":"Instance","spec":{"operatorVersion":{"name":"tok-0.1.0"}}}}}`))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE",` +
		`"resource":{"group":"kudo.dev","resource":"instances"},"object":{"kind":"Instance","spec":null},"oldObject":{"kind":"Instance",` +
		`"metadata":null}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{manager.MutatePath, manager.ValidatePath} {
			answer := post(t, path, "application/json", body)
			if answer.Code == http.StatusBadRequest {
				continue
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("%d: %s", answer.Code, answer.Body)
			}
			hasUID := bytes.Contains(body, []byte(`"uid":"u"`))
			if got.Response.Allowed == (got.Response.Result != nil) || got.Response.UID == types.UID("") && hasUID {
				t.Fatalf("answer: %s", answer.Body)
			}
		}
	})
}
