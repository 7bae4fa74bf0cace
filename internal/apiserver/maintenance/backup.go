package maintenance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/backup"
)

const (
	// BackupPath is the path of a GET request for a backup of the server. A backup has the keys of the
	// server, so no default role except cluster-admin allows to read this path.
	BackupPath = "/holdfast/backup"

	// WithoutKeysParameter is the parameter of the path that leaves out the keys of encrypted objects if it is
	// "true".
	WithoutKeysParameter = "withoutKeys"

	// The files of a backup.
	backupDatabase   = "etcd.db"
	backupEncryption = "encryption.yaml"
)

// BackupOptions says what a backup has.
type BackupOptions struct {
	// WithoutKeys leaves out the keys of encrypted objects. The restored server needs them from elsewhere.
	WithoutKeys bool
}

// Backup writes a backup of the server that has the data directory of the config. The server must not
// be running. It returns an error if the EncryptionConfiguration of the config does not have every key that
// objects are encrypted with, unless the options say that the backup has no keys.
func Backup(ctx context.Context, config config.Server, options BackupOptions, to io.Writer) error {
	stopped, err := start.OpenStopped(ctx, config)
	if err != nil {
		return err
	}
	defer stopped.Close()
	s, err := newSource(ctx, config, stopped.Etcd, options)
	if err != nil {
		return err
	}
	snapshot, err := stopped.Etcd.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Close() }()
	return s.write(snapshot, to)
}

// source is the server of a backup.
type source struct {
	version string
	// pki is the directory with the keys of the server.
	pki string
	// encryption is the text of the EncryptionConfiguration, nil if the backup has none.
	encryption []byte
	keys       *backup.Encryption
}

// write writes the keys of the server and a snapshot of etcd. It leaves out the files of the data directory
// that belong to one server or one machine. The server creates these again when it starts: its identity,
// its own certificate and that of the administrator.
func (s source) write(snapshot io.Reader, to io.Writer) error {
	created := time.Now().UTC().Truncate(time.Second)
	w := backup.NewWriter(to, backup.Info{Version: s.version, Created: created, Encryption: s.keys})
	entries, err := os.ReadDir(s.pki)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		base, _, _ := strings.Cut(entry.Name(), ".")
		if entry.IsDir() || base == "serving" || base == "admin" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(s.pki, entry.Name()))
		if err != nil {
			return err
		}
		if err := w.File("pki/"+entry.Name(), content); err != nil {
			return err
		}
	}
	if s.encryption != nil {
		if err := w.File(backupEncryption, s.encryption); err != nil {
			return err
		}
	}
	if err := w.Stream(backupDatabase, snapshot); err != nil {
		return err
	}
	return w.Close()
}

// Serve serves backups and the diagnosis of a running server.
func Serve(b start.Base, server *genericapiserver.GenericAPIServer) {
	serveBackup(b, server)
	serveDiagnosis(b, server)
}

// serveBackup serves backups at BackupPath, one at a time.
func serveBackup(b start.Base, server *genericapiserver.GenericAPIServer) {
	var one sync.Mutex
	server.Handler.NonGoRestfulMux.HandleFunc(BackupPath, func(w http.ResponseWriter, r *http.Request) {
		refuse := func(err error) {
			responsewriters.ErrorNegotiated(err, b.Codecs, schema.GroupVersion{Version: "v1"}, w, r)
		}
		switch {
		case r.Method != http.MethodGet:
			refuse(apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "backup"}, r.Method))
			return
		case !one.TryLock():
			refuse(apierrors.NewTooManyRequests("another backup is being written", 10))
			return
		}
		defer one.Unlock()
		started := time.Now()
		options := BackupOptions{WithoutKeys: r.URL.Query().Get(WithoutKeysParameter) == "true"}
		s, err := newSource(r.Context(), b.Config, b.Etcd, options)
		if err != nil {
			refuse(apierrors.NewInternalError(err))
			return
		}
		snapshot, err := b.Etcd.Snapshot(r.Context())
		if err != nil {
			refuse(apierrors.NewServiceUnavailable(err.Error()))
			return
		}
		defer func() { _ = snapshot.Close() }()
		w.Header().Set("Content-Type", "application/x-tar")
		if err := s.write(snapshot, w); err != nil {
			if !errors.Is(err, context.Canceled) {
				klog.ErrorS(err, "the backup failed")
			}
			// The status is sent already. The client notices that the connection ends too early.
			panic(http.ErrAbortHandler)
		}
		user, _ := request.UserFrom(r.Context())
		klog.InfoS("a backup was written", "user", user.GetName(), "duration", time.Since(started).Round(time.Millisecond))
	})
}

// WithLongBackups adds requests for a backup to the long-running requests, which have no time limit.
func WithLongBackups(isLongRunning request.LongRunningRequestCheck) request.LongRunningRequestCheck {
	return func(r *http.Request, info *request.RequestInfo) bool {
		return !info.IsResourceRequest && info.Path == BackupPath || isLongRunning(r, info)
	}
}
