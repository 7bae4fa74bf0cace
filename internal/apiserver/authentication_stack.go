package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/stack"
)

// withStack makes room on the stack of a goroutine that serves a request. The library starts one for each request that is not long-running,
// and authentication is the first step in it that the server itself provides. A watch gets no room, because its goroutine would keep it.
func withStack(inner authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Verb != "watch" {
			stack.Grow(stack.Deep)
		}
		return inner.AuthenticateRequest(req)
	})
}
