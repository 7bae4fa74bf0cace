package side

import (
	"os"
	"path/filepath"
)

// Program is a program that runs beside a server, as a client of it.
type Program struct {
	// Name is unique among the programs of the server.
	Name string
	// Path is the executable file.
	Path string
	// User is the identity in the kubeconfig of the program.
	User User
	// Account is the service account of the program. If it has a name, its token is in the kubeconfig instead of a
	// certificate of User.
	Account ServiceAccount
	// Args returns the arguments. The directory is for files of the program.
	Args func(dir, kubeconfig string) []string
}

// Component is a running program. The caller must call Stop.
type Component struct{ process *process }

// StartProgram starts a program in a new directory below that of the server. The log of the program is there too.
func (s *Server) StartProgram(p Program) (*Component, error) {
	dir := filepath.Join(s.dir, p.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write := func() error { return s.WriteKubeconfig(kubeconfig, p.User) }
	if p.Account.Name != "" {
		write = func() error { return s.writeAccountKubeconfig(kubeconfig, p.Account) }
	}
	if err := write(); err != nil {
		return nil, err
	}
	started, err := startProcess(dir, p.Path, p.Args(dir, kubeconfig)...)
	if err != nil {
		return nil, err
	}
	return &Component{process: started}, nil
}

// Running returns an error with the end of the log if the program has ended.
func (c *Component) Running() error { return c.process.running() }

// Log returns the end of the log.
func (c *Component) Log() string { return c.process.lastLines() }

// Stop ends the program and waits for its end.
func (c *Component) Stop() { c.process.stop() }

// Kill ends the program without warning, as a power failure does, and waits for its end.
func (c *Component) Kill() { c.process.kill() }

// KillAndStart kills the program, and starts it again with the same arguments.
func (c *Component) KillAndStart() error { return c.process.restart() }
