package recording

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// Serve puts the filter in front of the handlers of a server.
func (r *Recorder) Serve(config *genericapiserver.Config) {
	inner := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(r.Filter(handler), c)
	}
}

// Filter wraps the handlers of resources. It runs after authorization. It answers requests for the history of an object, and notes which
// client sends a write.
func (r *Recorder) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if ok && info.IsResourceRequest {
			switch info.Verb {
			case "get":
				if info.Subresource == "" && strings.Contains(req.URL.RawQuery, fieldhistory.Query) && req.URL.Query().Get(queryName) == queryValue {
					r.answer(next, w, req, info)
					return
				}
			case "create", "update", "patch", "delete", "deletecollection":
				req = withOrigin(req)
			}
		}
		next.ServeHTTP(w, req)
	})
}

// The parts of fieldhistory.Query.
const (
	queryName  = "holdfast"
	queryValue = "history"
)

// asMetadata is the media type of an answer with the metadata of an object only.
const asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// answer first reads the object with the rights of the client. If this read fails for another reason than that there is no such object,
// the client gets the response to it.
func (r *Recorder) answer(next http.Handler, w http.ResponseWriter, req *http.Request, info *genericapirequest.RequestInfo) {
	ctx, wanted := req.Context(), types.UID(req.URL.Query().Get(fieldhistory.UIDParameter))
	read := capture.Get(next, req, asMetadata, queryName, fieldhistory.UIDParameter)
	var object metav1.PartialObjectMetadata
	live := read.Code == http.StatusOK && json.Unmarshal(read.Body, &object) == nil && object.UID != ""
	if !live && read.Code != http.StatusNotFound {
		read.Replay(w)
		return
	}
	at := place{schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Namespace, info.Name}
	if at.resource == namespaceResource {
		at.namespace = "" // the request has the name there
	}
	records, err := r.records(ctx, at)
	if err != nil {
		http.Error(w, "read history: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if wanted == "" {
		wanted = records.newest(object.UID)
	}
	if !live && len(records) == 0 {
		read.Replay(w)
		return
	}
	if _, found := records[wanted]; !found && wanted != object.UID {
		notFound := apierrors.NewNotFound(at.resource, at.name)
		notFound.ErrStatus.Message = "the server has no history of " + at.resource.String() + " \"" + at.name + "\" with the UID " + string(wanted)
		respond(w, http.StatusNotFound, notFound.ErrStatus)
		return
	}
	list, err := r.list(ctx, at, wanted)
	if err != nil {
		http.Error(w, "read history: "+err.Error(), http.StatusInternalServerError)
		return
	}
	list.OtherUIDs = records.others(wanted, object.UID)
	if live && wanted == object.UID && !excluded[at.resource] {
		var own any
		if v, ok := object.Labels[fieldhistory.Label]; ok {
			own = v
		}
		list.Recording = r.isOn(own, object.Namespace)
	}
	respond(w, http.StatusOK, list)
}

func respond(w http.ResponseWriter, code int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "encode history: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error means that the client has disconnected.
	_, _ = w.Write(data)
}

// records are the revisions of the newest entries of all objects that have or had one name, by their UIDs.
type records map[types.UID]int64

// records reads only keys: a client may create and delete an object many times.
func (r *Recorder) records(ctx context.Context, at place) (records, error) {
	found, part := records{}, etcd.Range{Prefix: at.prefix(), Limit: page, KeysOnly: true}
	for {
		read, err := r.Client.Page(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, pair := range read.Pairs {
			uid, _, err := parseKey(pair.Key)
			if err != nil {
				return nil, err
			}
			found[uid] = pair.Created
			part.After = pair.Key
		}
		if len(read.Pairs) < page {
			return found, nil
		}
	}
}

// newest returns the UID of the object that exists, or else of the one that was deleted last.
func (r records) newest(live types.UID) types.UID {
	newest, created := live, int64(0)
	for uid, last := range r {
		if live == "" && last > created {
			newest, created = uid, last
		}
	}
	return newest
}

// maxOthers is the largest number of deleted objects in an answer.
const maxOthers = 100

// others returns the UIDs of the deleted objects but for two, those that were deleted last.
func (r records) others(wanted, live types.UID) []string {
	var others []types.UID
	for uid := range r {
		if uid != wanted && uid != live {
			others = append(others, uid)
		}
	}
	slices.SortFunc(others, func(a, b types.UID) int { return int(r[b] - r[a]) })
	var texts []string
	for _, uid := range others[:min(len(others), maxOthers)] {
		texts = append(texts, string(uid))
	}
	slices.Sort(texts)
	return texts
}

// list returns the history of one object.
func (r *Recorder) list(ctx context.Context, at place, uid types.UID) (fieldhistory.List, error) {
	list := fieldhistory.List{Kind: fieldhistory.ListKind, APIVersion: fieldhistory.ListVersion, UID: string(uid), Items: []fieldhistory.Entry{}}
	pairs, err := r.pairs(ctx, at.record(uid))
	if err != nil {
		return list, err
	}
	for _, pair := range pairs {
		entry, err := r.decode(ctx, at.resource, pair)
		if err != nil {
			// The key of its encryption may be gone. The newer entries are of use all the same.
			klog.ErrorS(err, "history has an entry that cannot be read")
			if entry, err = unreadable(pair); err != nil {
				return list, err
			}
		}
		list.Items, list.ResourceVersion = append(list.Items, entry.Entry), entry.ResourceVersion
		if at.resource != secrets {
			list.Fingerprint = strconv.FormatUint(entry.after, 16)
		}
		if entry.Operation == fieldhistory.Delete {
			list.Deleted = &entry.Time
		}
	}
	return list, nil
}

// unreadable stands for an entry that cannot be decrypted.
func unreadable(pair etcd.Pair) (stored, error) {
	_, number, err := parseKey(pair.Key)
	return stored{Entry: fieldhistory.Entry{
		Number: number, ResourceVersion: strconv.FormatInt(pair.Created, 10), Operation: fieldhistory.Update, Truncated: true,
	}}, err
}
