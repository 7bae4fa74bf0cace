package etcd

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status returns the answer to a request whose write was not stored. It is a conflict, so the client reads again what it depends on.
func (e *FenceError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}
