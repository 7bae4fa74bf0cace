package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// SeriesType is the media type of the versions of a series, for a list of ConfigMaps or Secrets of a namespace with the label selector
// holdfast.dev/series=NAME. It has no values and no annotations. A server without --console answers 406.
const SeriesType = "application/json;as=Series;g=console.holdfast.dev;v=v1"

// Versions has what the server knows about ConfigMaps and Secrets that replace one another.
type Versions struct {
	// Namespace reads a namespace, which says what the server deletes.
	Namespace  func(ctx context.Context, name string) (*corev1.Namespace, error)
	References collection.Knowledge
	// UID returns the UID of a ConfigMap or Secret, empty if there is none. known is false if this server cannot say. It is nil if the
	// server has no index of references.
	UID func(kind references.Kind, namespace, name string) (uid types.UID, known bool)
}

// Series are the versions of a series, the newest first.
type Series struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	Namespace  string   `json:"namespace"`
	Members    []Member `json:"members"`
}

// Member is a version of a series.
type Member struct {
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	Created   time.Time `json:"created"`
	Immutable bool      `json:"immutable"`
	// Unused is since when no object refers to the version, nil if one does.
	Unused *time.Time `json:"unused,omitempty"`
	// Marked says that the server has announced that it deletes the version.
	Marked bool `json:"marked,omitempty"`
	// Stays is why the server does not delete the version. Goes is when it does, at the earliest.
	Stays string     `json:"stays,omitempty"`
	Goes  *time.Time `json:"goes,omitempty"`
}

// wantsSeries reports whether a request is one for the versions of a series.
func wantsSeries(req *http.Request, info *request.RequestInfo) bool {
	return info.Verb == "list" && info.APIGroup == "" && info.Namespace != "" && info.Subresource == "" && req.Method == http.MethodGet &&
		(info.Resource == "configmaps" || info.Resource == "secrets") && wants(req, "Series")
}

// answerSeries answers which versions a series has.
func (r *Reports) answerSeries(next http.Handler, w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	name, err := seriesOf(req)
	if err != nil {
		writeStatus(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	read := capture.Get(next, req, "application/json", "limit", "continue")
	if read.Code != http.StatusOK {
		read.Replay(w)
		return
	}
	found, err := r.sources.versions(req.Context(), info, name, read.Body)
	if err != nil {
		writeStatus(w, apierrors.NewInternalError(fmt.Errorf("series %s: %w", name, err)))
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// seriesOf returns the name of the series that a request selects.
func seriesOf(req *http.Request) (string, error) {
	wrong := errors.New("labelSelector: must be " + series.Label + "=NAME")
	selector, err := labels.Parse(req.URL.Query().Get("labelSelector"))
	if err != nil {
		return "", wrong
	}
	requirements, _ := selector.Requirements()
	if len(requirements) != 1 || requirements[0].Key() != series.Label || req.URL.Query().Get("fieldSelector") != "" {
		return "", wrong
	}
	values := requirements[0].Values().List()
	switch requirements[0].Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		if len(values) == 1 && values[0] != "" {
			return values[0], nil
		}
	}
	return "", wrong
}

// versions returns the versions in an encoded list of ConfigMaps or Secrets.
func (s Sources) versions(ctx context.Context, info *request.RequestInfo, name string, list []byte) (*Series, error) {
	all, err := decodeObjects(info.Resource, list)
	if err != nil {
		return nil, err
	}
	namespace, err := s.Versions.Namespace(ctx, info.Namespace)
	if err != nil {
		return nil, err
	}
	out := &Series{APIVersion: "console.holdfast.dev/v1", Kind: "Series", Name: name, Namespace: info.Namespace, Members: []Member{}}
	for i, outlook := range collection.Outlooks(all, namespace, s.Versions.References) {
		member := memberOf(all[i])
		member.Unused, member.Goes = timeOrNil(outlook.Unused), timeOrNil(outlook.Goes)
		member.Stays, member.Marked = outlook.Stays, outlook.Marked
		out.Members = append(out.Members, member)
	}
	slices.SortFunc(out.Members, func(a, b Member) int {
		return series.Compare(name, series.Member{Name: a.Name, Created: a.Created}, series.Member{Name: b.Name, Created: b.Created})
	})
	return out, nil
}

func decodeObjects(resource string, list []byte) ([]runtime.Object, error) {
	var all []runtime.Object
	if resource == "secrets" {
		var found corev1.SecretList
		if err := json.Unmarshal(list, &found); err != nil {
			return nil, err
		}
		for i := range found.Items {
			all = append(all, &found.Items[i])
		}
		return all, nil
	}
	var found corev1.ConfigMapList
	if err := json.Unmarshal(list, &found); err != nil {
		return nil, err
	}
	for i := range found.Items {
		all = append(all, &found.Items[i])
	}
	return all, nil
}

func memberOf(obj runtime.Object) Member {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return Member{Name: obj.Name, UID: obj.UID, Created: obj.CreationTimestamp.UTC(), Immutable: obj.Immutable != nil && *obj.Immutable}
	case *corev1.Secret:
		return Member{Name: obj.Name, UID: obj.UID, Created: obj.CreationTimestamp.UTC(), Immutable: obj.Immutable != nil && *obj.Immutable}
	}
	return Member{}
}

// timeOrNil returns a time in seconds, nil for the zero time.
func timeOrNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Second)
	return &at
}
