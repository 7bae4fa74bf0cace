package referrers

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// maxReferrers is how many referrers an answer has. The server reads each of them.
const maxReferrers = 1000

// Wrap returns a handler that answers a GET of a ConfigMap or a Secret with ReferencesType, and a list of them with UnusedType, and passes on
// the rest. The requests are authenticated and authorized.
func (x *Index) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		wanted := map[string]string{"get": "References", "list": "UnusedList"}
		if !ok || !info.IsResourceRequest || info.APIGroup != "" || info.Subresource != "" || req.Method != http.MethodGet ||
			wanted[info.Verb] == "" || !accepts(req, wanted[info.Verb]) {
			next.ServeHTTP(w, req)
			return
		}
		kind, ok := map[string]references.Kind{"configmaps": references.ConfigMap, "secrets": references.Secret}[info.Resource]
		switch {
		case !ok:
			next.ServeHTTP(w, req)
		case info.Verb == "get":
			x.answerGet(next, w, req, question{kind, names{info.Namespace, info.Name}})
		default:
			x.answerList(w, req, question{kind, names{namespace: info.Namespace}})
		}
	})
}

// accepts reports whether a request asks for an answer of this package and for nothing else.
func accepts(req *http.Request, as string) bool {
	name, parameters, err := mime.ParseMediaType(req.Header.Get("Accept"))
	return err == nil && name == "application/json" && parameters["as"] == as && parameters["g"] == "series.holdfast.dev" && parameters["v"] == "v1"
}

// question is what a client asks about: an object, or, without a name, all objects of a kind.
type question struct {
	kind references.Kind
	names
}

// answerGet answers who refers to an object.
func (x *Index) answerGet(next http.Handler, w http.ResponseWriter, req *http.Request, about question) {
	answer := References{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "References"},
		Object:   Object{Kind: about.kind.String(), Namespace: about.namespace, Name: about.name}, Referrers: []Referrer{},
	}
	switch read := capture.Get(next, req, "application/json"); read.Code {
	case http.StatusNotFound:
	case http.StatusOK:
		var object struct {
			Metadata  metav1.ObjectMeta `json:"metadata"`
			Immutable bool              `json:"immutable"`
		}
		if err := json.Unmarshal(read.Body, &object); err != nil {
			writeError(w, err)
			return
		}
		answer.Object.Exists, answer.Object.UID = true, object.Metadata.UID
		answer.Object.Immutable, answer.Object.Series = object.Immutable, object.Metadata.Labels[series.Label]
	default:
		read.Replay(w)
		return
	}
	if since, ok := x.Unused(about.kind, about.namespace, about.name); ok && answer.Object.Exists {
		since = since.UTC().Truncate(time.Second)
		answer.UnusedSince = &since
	}
	answer.Incomplete = x.Incomplete(about.namespace)
	x.addReferrers(req.Context(), &answer, about)
	write(w, http.StatusOK, answer)
}

// addReferrers adds the referrers and the pins that the user of a request may get, and counts the others. If it cannot read a referrer, the answer is
// incomplete.
func (x *Index) addReferrers(ctx context.Context, answer *References, about question) {
	may := x.rights(ctx)
	// hidden are the objects that the user may not get. A pod with a pin may be a referrer too.
	hidden := map[referrer]struct{}{}
	unreadable := false
	for _, r := range x.referrersOf(about.kind, about.namespace, about.name) {
		if !may(r.kind.resource, r.namespace) {
			hidden[referrer{kind: r.kind, names: r.names}] = struct{}{}
			continue
		}
		if len(answer.Referrers) == maxReferrers {
			answer.More++
			continue
		}
		found, err := x.readReferrer(ctx, r, about)
		if err != nil && !unreadable {
			unreadable = true
			full := storage.Stored{Namespace: r.namespace, Name: r.name}.FullName()
			answer.Incomplete = fmt.Sprintf("%s %s cannot be read: %v", r.kind.resource, full, err)
		}
		if found != nil {
			answer.Referrers = append(answer.Referrers, *found)
		}
	}
	for _, pin := range x.pinsOf(about.kind, about.namespace, about.name) {
		if may(pods, about.namespace) {
			answer.Pins = append(answer.Pins, pin)
		} else {
			hidden[referrer{kind: x.kindOf(pods), names: names{about.namespace, pin.Pod}}] = struct{}{}
		}
	}
	answer.Hidden = len(hidden)
}

func (x *Index) kindOf(resource schema.GroupResource) *kind {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.kinds[resource]
}

// rights returns a function that reports whether the user of a request may get the objects of a resource in a namespace.
func (x *Index) rights(ctx context.Context) func(schema.GroupResource, string) bool {
	type scope struct {
		schema.GroupResource
		namespace string
	}
	by, _ := request.UserFrom(ctx)
	known := map[scope]bool{}
	return func(resource schema.GroupResource, namespace string) bool {
		of := scope{resource, namespace}
		may, asked := known[of]
		if !asked && by != nil {
			decision, _, err := x.config.Rights.Authorize(ctx, authorizer.AttributesRecord{
				User: by, Verb: "get", APIGroup: resource.Group, APIVersion: "*", Resource: resource.Resource, Namespace: namespace, ResourceRequest: true,
			})
			may = err == nil && decision == authorizer.DecisionAllow
			known[of] = may
		}
		return may
	}
}

// readReferrer reads a referring object to find the places of the references. It returns nil if the object does not refer to the other one:
// it was changed or deleted since, or a hash is that of another name.
func (x *Index) readReferrer(ctx context.Context, r referrer, about question) (*Referrer, error) {
	object, err := x.readObject(ctx, r)
	if apierrors.IsNotFound(err) || err == nil && object == nil {
		return nil, nil //nolint:nilnil // it was deleted since
	}
	if err != nil {
		return nil, err
	}
	out := &Referrer{Namespace: r.namespace, Name: r.name}
	out.APIVersion, _ = object["apiVersion"].(string)
	out.Kind, _ = object["kind"].(string)
	x.mu.Lock()
	find, counts := r.kind.find, x.keysOf(about.kind, about.namespace, about.name, x.granted)
	x.mu.Unlock()
	refs := collector{index: x}
	for _, reference := range find.places(object) {
		refs.begin(r.namespace)
		refs.add(reference.Kind, reference.Namespace, reference.Name)
		one := refs.end()
		if matches(one.patterns, about.kind, about.namespace, about.name) || slices.ContainsFunc(one.keys, func(k key) bool { return slices.Contains(counts, k) }) {
			out.Paths = append(out.Paths, reference.Path.String())
		}
	}
	if len(out.Paths) == 0 && !r.all {
		return nil, nil //nolint:nilnil // it does not refer to the object
	}
	return out, nil
}

// readObject reads a referring object: one of a built-in kind from the watch cache, and a custom resource as it is stored.
func (x *Index) readObject(ctx context.Context, r referrer) (map[string]any, error) {
	if r.kind.custom {
		stored, err := x.config.Objects.Get(ctx, r.kind.resource, r.namespace, r.name)
		if err != nil || stored == nil {
			return nil, err
		}
		var object map[string]any
		err = utiljson.Unmarshal(stored.Text, &object)
		return object, err
	}
	ctx = request.WithNamespace(ctx, r.namespace)
	found, err := x.config.Stores[r.kind.resource].Get(ctx, r.name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(found)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = r.kind.gvk.GroupVersion().String(), r.kind.gvk.Kind
	return object, nil
}

// answerList answers which objects are unused. The index has no labels and no fields to select by, and a user may have the right to list objects
// only with a selector, so that a selector is an error.
func (x *Index) answerList(w http.ResponseWriter, req *http.Request, about question) {
	query := req.URL.Query()
	for _, selector := range []string{"labelSelector", "fieldSelector"} {
		if query.Get(selector) != "" {
			writeError(w, apierrors.NewBadRequest(selector+": unused objects cannot be selected, only those of a namespace or of all"))
			return
		}
	}
	if all := query.Get("all"); all != "" && all != "true" && all != "false" {
		writeError(w, apierrors.NewBadRequest("all: must be true or false"))
		return
	}
	write(w, http.StatusOK, x.unused(about.kind, about.namespace, query.Get("all") == "true"))
}

func writeError(w http.ResponseWriter, err error) {
	status := apierrors.APIStatus(apierrors.NewInternalError(err))
	if known, ok := err.(apierrors.APIStatus); ok {
		status = known
	}
	text := status.Status()
	text.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	write(w, int(text.Code), text)
}

func write(w http.ResponseWriter, code int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	// An error means that the client has disconnected.
	_, _ = w.Write(text)
}
