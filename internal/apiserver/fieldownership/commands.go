package fieldownership

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/ownership"
)

const (
	// commandsQuery is the query parameter of a GET that asks for the commands that wrote an object,
	// with the value commands. A client that may get the object may read them. A server without
	// this feature answers with the object.
	commandsQuery = "holdfast"
	// commandsValue is the value of commandsQuery.
	commandsValue = "commands"
)

// CommandList is the answer to a GET of an object with ?holdfast=commands.
type CommandList struct {
	metav1.TypeMeta `json:",inline"`
	// UID is the UID of the object.
	UID types.UID `json:"uid"`
	// Items are the commands, the newest first.
	Items []ownership.Command `json:"items"`
}

// DecodeCommands returns the commands in the answer to a GET with CommandsQuery. A server without
// this feature answers with the object instead; the result is then empty.
func DecodeCommands(answer []byte) ownership.Commands {
	var list CommandList
	if json.Unmarshal(answer, &list) != nil || list.Kind != "CommandList" {
		return ownership.Commands{}
	}
	return ownership.Commands{Entries: list.Items}
}

// CommandsQuery is the query of a GET that asks for the commands of an object.
const CommandsQuery = commandsQuery + "=" + commandsValue

// asMetadata is the media type of an answer with the metadata of an object only.
const asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Commands returns the commands that are remembered for an object, none if the checker is nil.
func (c *Checker) Commands(ctx context.Context, uid types.UID) (ownership.Commands, error) {
	if c == nil {
		return ownership.Commands{}, nil
	}
	return c.memory.Read(ctx, uid)
}

// serveCommands first reads the object with the rights of the client. If this read fails,
// the client gets the response to it.
func (c *Checker) serveCommands(next http.Handler, w http.ResponseWriter, req *http.Request) {
	read := capture.Get(next, req, asMetadata, commandsQuery)
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(read.Body, &object); read.Code != http.StatusOK || err != nil || object.UID == "" {
		read.Replay(w)
		return
	}
	commands, err := c.Commands(req.Context(), object.UID)
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
	// An error means that the client has disconnected.
	_, _ = w.Write(data)
}
