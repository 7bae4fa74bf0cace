package apiserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// opened holds the resources that are open from New to the end of Run.
type opened struct {
	lock     *os.File
	listener *closableListener
	pki      *access.PKI
	// member is nil if etcd runs outside of the process.
	member *etcd.Member
	client *etcd.Client
}

// open opens the resources that an administrator can get wrong: the lock of the data
// directory, the port, the certificates, etcd. On an error it leaves nothing open.
func open(ctx context.Context, config Config) (_ *opened, err error) {
	o := &opened{}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	if o.lock, err = lockDataDir(config.DataDir); err != nil {
		return nil, err
	}
	if o.listener, err = listen(config); err != nil {
		return nil, err
	}
	if o.pki, err = access.OpenPKI(filepath.Join(config.DataDir, "pki"), servingHosts(config)); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	o.pki.Authority().ServerName = serverName(config)
	if o.member, o.client, err = openEtcd(ctx, config); err != nil {
		return nil, err
	}
	return o, nil
}

// openEtcd starts the member in this process or connects to the cluster outside.
func openEtcd(ctx context.Context, config Config) (*etcd.Member, *etcd.Client, error) {
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

// url is the URL at which clients reach the server.
func (o *opened) url() string {
	host, port, err := net.SplitHostPort(o.listener.Addr().String())
	if err != nil {
		return "https://" + o.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// close closes everything, in the reverse order of open.
func (o *opened) close() {
	if o.client != nil {
		o.client.Close()
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
