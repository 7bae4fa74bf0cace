package maintenance

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// DiagnosisPath is the path of a GET request for the Diagnosis of the server, as JSON. It shows paths and
// addresses of the server, so no default role except cluster-admin allows to read it.
const DiagnosisPath = "/holdfast/diagnosis"

// Diagnosis is what a server knows about itself and its storage.
type Diagnosis struct {
	// Version is the version of the program.
	Version string `json:"version"`
	// Time is the time of the server's clock.
	Time time.Time `json:"time"`
	// Disk is the file system of the data directory.
	Disk Disk `json:"disk"`
	// Certificates are those in the data directory.
	Certificates []Certificate `json:"certificates"`
	// Etcd has the members of etcd.
	Etcd []etcd.MemberStatus `json:"etcd"`
}

// Certificate is a file with a certificate.
type Certificate struct {
	File string `json:"file"`
	// NotBefore is when the certificate begins, and NotAfter when it expires.
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	// Error says why the file cannot be read.
	Error string `json:"error,omitempty"`
}

// Diagnose returns the diagnosis of the server with the data directory of the config. The server must not
// be running.
func Diagnose(ctx context.Context, config config.Server) (Diagnosis, error) {
	stopped, err := start.OpenStopped(ctx, config)
	if err != nil {
		return Diagnosis{}, err
	}
	defer stopped.Close()
	return diagnose(ctx, config, stopped.Etcd), nil
}

func diagnose(ctx context.Context, config config.Server, client *etcd.Client) Diagnosis {
	return Diagnosis{
		Version: config.Version, Time: time.Now().UTC(), Disk: DiskOf(config.DataDir),
		Certificates: certificatesIn(filepath.Join(config.DataDir, "pki")), Etcd: client.Members(ctx),
	}
}

// certificatesIn returns the certificates in a directory, sorted by the names of the files.
func certificatesIn(dir string) []Certificate {
	files, _ := filepath.Glob(filepath.Join(dir, "*.crt"))
	all := make([]Certificate, 0, len(files))
	for _, file := range files {
		all = append(all, CertificateOf(file))
	}
	return all
}

// CertificateOf returns the first certificate of a file.
func CertificateOf(file string) Certificate {
	c := Certificate{File: filepath.Base(file)}
	leaf, err := readCertificate(file)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	c.NotBefore, c.NotAfter = leaf.NotBefore, leaf.NotAfter
	return c
}

// readCertificate reads the first certificate of a file.
func readCertificate(file string) (*x509.Certificate, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, fmt.Errorf("%s has no certificate in PEM", file)
}

// serveDiagnosis serves the diagnosis at DiagnosisPath.
func serveDiagnosis(b start.Base, server *genericapiserver.GenericAPIServer) {
	server.Handler.NonGoRestfulMux.HandleFunc(DiagnosisPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			err := apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "diagnosis"}, r.Method)
			responsewriters.ErrorNegotiated(err, b.Codecs, schema.GroupVersion{Version: "v1"}, w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(diagnose(r.Context(), b.Config, b.Etcd))
	})
}
