package fieldownership

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/ownership"
)

// A GET of an object with the query ?holdfast=commands answers what is remembered
// of it; who may read the object may read that. Servers without this answer with
// the object.
const (
	commandsQuery = "holdfast"
	commandsValue = "commands"
)

// CommandList is the answer to a GET of an object with ?holdfast=commands.
type CommandList struct {
	metav1.TypeMeta `json:",inline"`
	// UID is the object's.
	UID types.UID `json:"uid"`
	// Items are the commands, the newest first.
	Items []ownership.Command `json:"items"`
}

// asMetadata asks for no more than is needed to know which object it is.
const asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// serveCommands reads the object as the client would have, so that whatever keeps
// the client from that keeps it from this.
func (c *Checker) serveCommands(next http.Handler, w http.ResponseWriter, req *http.Request) {
	inner := req.Clone(req.Context())
	query := inner.URL.Query()
	query.Del(commandsQuery)
	inner.URL = withQuery(inner.URL, query)
	inner.Header.Set("Accept", asMetadata)
	inner.Header.Del("Accept-Encoding")
	read := &recorded{header: http.Header{}, code: http.StatusOK}
	next.ServeHTTP(read, inner)
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(read.body, &object); read.code != http.StatusOK || err != nil || object.UID == "" {
		read.replay(w)
		return
	}
	commands, err := c.memory.Read(req.Context(), object.UID)
	if err != nil {
		http.Error(w, "read commands: "+err.Error(), http.StatusInternalServerError)
		return
	}
	list := CommandList{
		TypeMeta: metav1.TypeMeta{APIVersion: "holdfast.dev/v1", Kind: "CommandList"},
		UID:      object.UID, Items: commands.Entries,
	}
	if list.Items == nil {
		list.Items = []ownership.Command{}
	}
	data, err := json.Marshal(list)
	if err != nil {
		http.Error(w, "encode commands: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone needs no answer.
	_, _ = w.Write(data)
}

// recorded is an answer kept back.
type recorded struct {
	header http.Header
	code   int
	body   []byte
}

// Header implements http.ResponseWriter.
func (r *recorded) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(code int) { r.code = code }

// Write implements http.ResponseWriter.
func (r *recorded) Write(data []byte) (int, error) {
	r.body = append(r.body, data...)
	return len(data), nil
}

func (r *recorded) replay(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.code)
	_, _ = w.Write(r.body)
}
