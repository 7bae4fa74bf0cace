package console

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/refused"
)

// RefusedPath has the writes of the last hour that a protection of this server refused, as far as the user may get their objects. A GET
// needs a credential and no role. Only a server with --console has it.
const RefusedPath = "/holdfast/refused-writes"

// RefusedWriteList is the answer at RefusedPath, the newest write first.
type RefusedWriteList struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Items      []refused.Write `json:"items"`
}

// Refused returns the handler of RefusedPath. Authorization lets every request pass: each write needs the right to get its object.
func (r *Reports) Refused() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		setSecurityHeaders(w.Header(), reportPolicy)
		w.Header().Set("Cache-Control", "no-store")
		if req.Method != http.MethodGet {
			w.Header().Set("Allow", "GET")
			http.Error(w, "the refused writes can only be read", http.StatusMethodNotAllowed)
			return
		}
		if by, found := request.UserFrom(req.Context()); !found || by.GetName() == user.Anonymous {
			http.Error(w, "the refused writes need a credential", http.StatusUnauthorized)
			return
		}
		writeJSON(w, http.StatusOK, RefusedWriteList{
			APIVersion: "console.holdfast.dev/v1", Kind: "RefusedWriteList", Items: r.refused.Seen(req.Context(), r.sources.Rights),
		})
	})
}
