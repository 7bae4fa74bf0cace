package start

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// Opened holds the resources that are open while a server exists.
type Opened struct {
	lock     *os.File
	listener *closableListener
	// member is nil if etcd runs outside of the process.
	member *etcd.Member
	// PKI has the certificates of the data directory.
	PKI *access.PKI
	// Etcd reads and writes etcd.
	Etcd *etcd.Client
}

// Open opens the resources that an administrator can get wrong: the lock of the data
// directory, the port, the certificates, etcd. On an error it leaves nothing open.
func Open(ctx context.Context, config config.Server) (_ *Opened, err error) {
	o := &Opened{}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
	if o.lock, err = lockDataDir(config.DataDir); err != nil {
		return nil, err
	}
	if o.listener, err = listen(config); err != nil {
		return nil, err
	}
	if o.PKI, err = access.OpenPKI(filepath.Join(config.DataDir, "pki"), servingHosts(config)); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	o.PKI.Authority().ServerName = serverName(config)
	if o.member, o.Etcd, err = openEtcd(ctx, config); err != nil {
		return nil, err
	}
	return o, nil
}

// ErrNoDataDir is in the error of OpenStopped if a directory has no data of a server, does not exist or cannot be read.
var ErrNoDataDir = errors.New("is not the data directory of a server")

// OpenStopped opens the data directory and the etcd of a server that is not running, and nothing else. On an error it
// leaves nothing open.
func OpenStopped(ctx context.Context, config config.Server) (_ *Opened, err error) {
	if _, err := os.Stat(filepath.Join(config.DataDir, "pki", "ca.key")); err != nil {
		return nil, fmt.Errorf("%s %w: %w", config.DataDir, ErrNoDataDir, err)
	}
	o := &Opened{}
	if o.lock, err = lockDataDir(config.DataDir); err != nil {
		return nil, err
	}
	if o.member, o.Etcd, err = openEtcd(ctx, config); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// openEtcd starts the member in this process or connects to the cluster outside.
func openEtcd(ctx context.Context, config config.Server) (*etcd.Member, *etcd.Client, error) {
	if len(config.Etcd.Servers) > 0 {
		client, err := etcd.Connect(ctx, config.Etcd)
		return nil, client, err
	}
	member, err := etcd.Start(filepath.Join(config.DataDir, "etcd"))
	if err != nil {
		return nil, nil, err
	}
	return member, member.Client(), nil
}

// SharesEtcd reports whether etcd runs outside of the process. Other servers may store their objects in it then.
func (o *Opened) SharesEtcd() bool { return o.member == nil }

// Addr is the address and port on which the server listens.
func (o *Opened) Addr() net.Addr { return o.listener.Addr() }

// URL is the URL at which clients reach the server.
func (o *Opened) URL() string {
	host, port, err := net.SplitHostPort(o.Addr().String())
	if err != nil {
		return "https://" + o.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// Close closes everything, in the reverse order of Open.
func (o *Opened) Close() {
	if o.Etcd != nil {
		o.Etcd.Close()
	}
	if o.member != nil {
		o.member.Close()
	}
	if o.listener != nil {
		o.listener.forceClose()
	}
	if o.lock != nil {
		_ = o.lock.Close()
	}
}
