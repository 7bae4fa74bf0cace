package ownershipcheck

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"

	server "holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/ownership"
)

// withWarnings adds the warnings of a verdict to the response of a successful write. The response may have warnings
// of a guard about the same write already. Those of the verdict then replace them, because they name the command;
// but a note that the client could not check the write is left out.
func withWarnings(resp *http.Response, verdict ownership.Verdict) *http.Response {
	if resp == nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp
	}
	if others, found := withoutOwnership(resp.Header.Values("Warning")); found {
		if len(verdict.Findings) == 0 && !verdict.Replaced {
			return resp
		}
		resp.Header["Warning"] = others
	}
	for _, line := range verdict.Warnings() {
		// A line that is not valid in a header is dropped: the write has already succeeded.
		if header, err := utilnet.NewWarningHeader(299, "-", line); err == nil {
			resp.Header.Add("Warning", header)
		}
	}
	return resp
}

// withoutOwnership returns the Warning headers that are not about field ownership. found is true if others are.
func withoutOwnership(headers []string) (others []string, found bool) {
	for _, header := range headers {
		parsed, _ := utilnet.ParseWarningHeaders([]string{header})
		if len(parsed) == 1 && ownership.IsWarning(parsed[0].Text) {
			found = true
			continue
		}
		others = append(others, header)
	}
	return others, found
}

// refuse returns the response that a Holdfast server would send to a refused edit.
func (w *write) refuse(live map[string]any, refusals []ownership.Refusal) (*http.Response, error) {
	var errs field.ErrorList
	for _, refusal := range refusals {
		errs = append(errs, field.Forbidden(field.NewPath(refusal.Field), refusal.Message))
	}
	obj := &unstructured.Unstructured{Object: live}
	status := apierrors.NewInvalid(obj.GroupVersionKind().GroupKind(), obj.GetName(), errs).Status()
	status.APIVersion, status.Kind = "v1", "Status"
	data, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:     strconv.Itoa(http.StatusUnprocessableEntity) + " " + http.StatusText(http.StatusUnprocessableEntity),
		StatusCode: http.StatusUnprocessableEntity, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {"application/json"}, http.CanonicalHeaderKey(server.Header): {string(judgement.EnforceEdit)},
		},
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)), Request: w.req,
	}, nil
}
