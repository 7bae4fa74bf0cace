package fieldownership

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/ownership"
)

const (
	// Header is a response header with the mode of the server. A server that judges writes
	// sends it in every response. A client that finds it need not judge writes itself.
	Header = "Holdfast-Ownership"
	// ForceHeader is a request header. Its value "true" forces an edit.
	ForceHeader = "Holdfast-Force"
	// CommandHeader is the request header in which kubectl names its command.
	CommandHeader = "Kubectl-Command"
)

// Filter wraps the handlers of resources. It runs after authorization. Bodies are read
// up to maxBody bytes; zero means no limit.
func (c *Checker) Filter(next http.Handler, maxBody int64) http.Handler {
	if c == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set(Header, string(c.mode))
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		switch {
		case !ok || !info.IsResourceRequest:
		case info.Verb == "get" && info.Subresource == "" && req.URL.Query().Get(commandsQuery) == commandsValue:
			c.serveCommands(next, w, req)
			return
		case (info.Verb == "update" || info.Verb == "patch") && ownership.IsWritable(info.Subresource):
			r, judged := newRequest(req, info)
			if r.writer.Act == ownership.Replace && info.Verb == "update" && info.Subresource == "" {
				r.body = readBody(judged, maxBody)
			}
			if isSecretApply(judged, info) {
				foldStringData(judged, maxBody)
			}
			if r.isRoleApply(info) {
				dropAggregated(judged, maxBody)
			}
			req = judged.WithContext(withRequest(judged.Context(), r))
			written := &answer{ResponseWriter: w, checker: c, request: r, ctx: req.Context()}
			// A response without a body has no first bytes.
			defer written.release(nil)
			w = responsewriter.WrapForHTTP1Or2(written)
		}
		next.ServeHTTP(w, req)
	})
}

// IsForced says whether a query forces a server-side apply. It reads the parameter as
// the server does.
func IsForced(query url.Values) bool {
	values, forced := query["force"], false
	// The conversion returns no errors.
	_ = runtime.Convert_Slice_string_To_bool(&values, &forced, nil)
	return forced
}

// newRequest finds out which client sends a write, and with which command. It also returns
// the HTTP request for the next handler.
func newRequest(req *http.Request, info *genericapirequest.RequestInfo) (*request, *http.Request) {
	query := req.URL.Query()
	serverSide := info.Verb == "patch" && strings.HasPrefix(requestbody.MediaType(req), applyPatch)
	who := ownership.Request{
		Command: req.Header.Get(CommandHeader), FieldManager: query.Get("fieldManager"), UserAgent: req.UserAgent(),
		ServerSide: serverSide, Forced: IsForced(query),
		Force: req.Header.Get(ForceHeader) == "true",
	}
	if user, ok := genericapirequest.UserFrom(req.Context()); ok {
		who.User = user.GetName()
	}
	r := &request{
		writer: ownership.ParseWriter(who), serverSide: serverSide, dryRun: query.Get("dryRun") != "", path: objectPath(req.URL.Path, info),
	}
	if r.writer.Act == ownership.Edit && who.FieldManager == ownership.ForceManager {
		// The client uses this field manager only to force the edit. The edit is stored
		// with the field manager of kubectl edit.
		query.Set("fieldManager", ownership.EditManager)
		req = req.Clone(req.Context())
		req.URL = withQuery(req.URL, query)
	}
	return r, req
}

// applyPatch is the prefix of the media types of server-side apply.
var applyPatch = strings.TrimSuffix(string(types.ApplyYAMLPatchType), "+yaml")

func withQuery(u *url.URL, query url.Values) *url.URL {
	out := *u
	out.RawQuery = query.Encode()
	return &out
}

// objectPath returns the path of the object without its subresource.
func objectPath(path string, info *genericapirequest.RequestInfo) string {
	path = strings.TrimSuffix(path, "/")
	if info.Subresource != "" {
		path = strings.TrimSuffix(path, "/"+info.Subresource)
	}
	return path
}

// readBody returns the object in a request, nil if the body holds none. The request
// keeps the body.
func readBody(req *http.Request, limit int64) map[string]any {
	data, err := requestbody.Peek(req, limit)
	if err != nil {
		// The handler gets the same error and sends the response.
		return nil
	}
	var body map[string]any
	if utiljson.Unmarshal(data, &body) == nil {
		return body
	}
	if converted, err := yaml.YAMLToJSON(data); err == nil && strings.Contains(req.Header.Get("Content-Type"), "yaml") {
		if err := utiljson.Unmarshal(converted, &body); err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
	}
	return body
}
