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
	list, err := r.list(ctx, at, records, wanted)
	if err != nil {
		http.Error(w, "read history: "+err.Error(), http.StatusInternalServerError)
		return
	}
	for uid := range records {
		if uid != wanted && uid != object.UID {
			list.OtherUIDs = append(list.OtherUIDs, string(uid))
		}
	}
	slices.Sort(list.OtherUIDs)
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

// records are the stored entries of all objects that have or had one name, by their UIDs.
type records map[types.UID][]etcd.Pair

func (r *Recorder) records(ctx context.Context, at place) (records, error) {
	pairs, err := r.pairs(ctx, at.prefix())
	if err != nil {
		return nil, err
	}
	found := records{}
	for _, pair := range pairs {
		uid, _, err := parseKey(pair.Key)
		if err != nil {
			return nil, err
		}
		found[uid] = append(found[uid], pair)
	}
	return found, nil
}

// newest returns the UID of the object that exists, or else of the one that was deleted last.
func (r records) newest(live types.UID) types.UID {
	newest, created := live, int64(0)
	for uid, pairs := range r {
		if last := pairs[len(pairs)-1].Created; live == "" && last > created {
			newest, created = uid, last
		}
	}
	return newest
}

// list returns the history of one object.
func (r *Recorder) list(ctx context.Context, at place, all records, uid types.UID) (fieldhistory.List, error) {
	list := fieldhistory.List{Kind: fieldhistory.ListKind, APIVersion: fieldhistory.ListVersion, UID: string(uid), Items: []fieldhistory.Entry{}}
	for _, pair := range all[uid] {
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
