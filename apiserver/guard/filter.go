package guard

import (
	"bytes"
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

	"holdfast.dev/holdfast/ownership"
)

const (
	// Header is on every answer of a server that judges writes, with its mode.
	// A client that finds it need not judge them itself.
	Header = "Holdfast-Ownership"
	// ForceHeader forces an edit: Holdfast-Force: true.
	ForceHeader = "Holdfast-Force"
	// CommandHeader is how kubectl says which command it runs.
	CommandHeader = "Kubectl-Command"
)

// Filter stands around the handlers of resources, inside of authorization.
func (g *Guard) Filter(next http.Handler, maxBody int64) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set(Header, string(g.mode))
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		switch {
		case !ok || !info.IsResourceRequest:
		case info.Verb == "get" && info.Subresource == "" && req.URL.Query().Get(commandsQuery) == commandsValue:
			g.serveCommands(next, w, req)
			return
		case (info.Verb == "update" || info.Verb == "patch") && (info.Subresource == "" || info.Subresource == "scale"):
			a, request := g.attempt(req, info)
			if a.writer.Act == ownership.Replace && info.Verb == "update" && info.Subresource == "" {
				a.body = readBody(request, maxBody)
			}
			req = request.WithContext(withAttempt(request.Context(), a))
			w = responsewriter.WrapForHTTP1Or2(&answer{ResponseWriter: w, guard: g, attempt: a, request: req})
		}
		next.ServeHTTP(w, req)
	})
}

// IsForced says that a query forces a server-side apply, as the server reads it.
func IsForced(query url.Values) bool {
	values, forced := query["force"], false
	// It has no error to return.
	_ = runtime.Convert_Slice_string_To_bool(&values, &forced, nil)
	return forced
}

// attempt learns who writes.
func (g *Guard) attempt(req *http.Request, info *genericapirequest.RequestInfo) (*attempt, *http.Request) {
	query := req.URL.Query()
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	serverSide := info.Verb == "patch" && strings.HasPrefix(strings.TrimSpace(mediaType), applyPatch)
	who := ownership.Request{
		Command: req.Header.Get(CommandHeader), FieldManager: query.Get("fieldManager"), UserAgent: req.UserAgent(),
		ServerSide: serverSide, Forced: IsForced(query),
		Force: req.Header.Get(ForceHeader) == "true",
	}
	if user, ok := genericapirequest.UserFrom(req.Context()); ok {
		who.User = user.GetName()
	}
	a := &attempt{writer: ownership.ParseWriter(who), dryRun: query.Get("dryRun") != "", path: objectPath(req.URL.Path, info)}
	if a.writer.Act == ownership.Edit && who.FieldManager == ownership.ForceManager {
		// The word means what it says here and is nobody's name.
		query.Set("fieldManager", ownership.EditManager)
		req = req.Clone(req.Context())
		req.URL = withQuery(req.URL, query)
	}
	return a, req
}

// applyPatch begins the media types of server-side apply.
var applyPatch = strings.TrimSuffix(string(types.ApplyYAMLPatchType), "+yaml")

func withQuery(u *url.URL, query url.Values) *url.URL {
	out := *u
	out.RawQuery = query.Encode()
	return &out
}

// objectPath is the path of the object without its subresource.
func objectPath(path string, info *genericapirequest.RequestInfo) string {
	path = strings.TrimSuffix(path, "/")
	if info.Subresource != "" {
		path = strings.TrimSuffix(path, "/"+info.Subresource)
	}
	return path
}

// readBody is the object in a request, nil if it is none that can be read here;
// the request keeps it.
func readBody(req *http.Request, limit int64) map[string]any {
	reader := io.Reader(req.Body)
	if limit > 0 {
		reader = io.LimitReader(req.Body, limit+1)
	}
	data, err := io.ReadAll(reader)
	rest := io.Reader(req.Body)
	if err != nil {
		// The handler meets the same error in the same place.
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), rest), req.Body}
	if err != nil || limit > 0 && int64(len(data)) > limit {
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

// failing is a body that cannot be read any further.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
