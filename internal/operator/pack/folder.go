package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// readFolder reads the files of a package from a folder, and those of the packages that its
// tasks refer to, which may be beside the folder.
func readFolder(location string) (Files, error) {
	d := disk{files: Files{}, location: location, folders: map[string]string{".": "."}}
	if err := d.files.visitPackages(d.read); err != nil {
		return nil, err
	}
	return d.files, nil
}

// disk reads packages from folders.
type disk struct {
	files Files
	// location is the folder of the package at the top.
	location string
	// folders holds the folder of each package on disk, relative to location, by its folder
	// among the files. The two differ for packages that are not below location.
	folders map[string]string
}

// read reads the package in a folder, without those bundled with it, and notes where these are.
func (d *disk) read(folder string) error {
	if err := d.readPackage(folder); err != nil {
		return err
	}
	for _, relative := range d.files.needed(folder) {
		inner, onDisk := folderIn(folder, relative), path.Join(d.folders[folder], relative)
		// An archive that was unpacked has all packages below the one at the top.
		if found, err := d.hasPackage(onDisk); err != nil {
			return err
		} else if !found {
			onDisk = inner
		}
		if known, twice := d.folders[inner]; twice && known != onDisk {
			return fmt.Errorf("the packages in folders %s and %s would both be in folder %s of an archive", known, onDisk, inner)
		}
		d.folders[inner] = onDisk
	}
	return nil
}

// open opens a folder that contains the package in a folder on disk, and returns the path of
// the package in it. Links do not lead out of the opened folder, because a link can point
// anywhere. The opened folder is location, or the lowest folder above it that has the package.
func (d *disk) open(onDisk string) (*os.Root, string, error) {
	top := d.location
	for onDisk == ".." || strings.HasPrefix(onDisk, "../") {
		top, onDisk = filepath.Join(top, ".."), path.Clean(strings.TrimPrefix(onDisk[2:], "/"))
	}
	root, err := os.OpenRoot(top)
	return root, onDisk, err
}

// hasPackage reports whether a folder on disk has a package.
func (d *disk) hasPackage(onDisk string) (bool, error) {
	root, folder, err := d.open(onDisk)
	if err != nil {
		return false, err
	}
	defer root.Close()
	_, err = root.Lstat(filepath.FromSlash(path.Join(folder, OperatorFileName)))
	return err == nil, nil
}

// readPackage reads the files of the package in a folder.
func (d *disk) readPackage(folder string) error {
	root, onDisk, err := d.open(d.folders[folder])
	if err != nil {
		return err
	}
	defer root.Close()
	read := func(name string) error {
		inPackage := name
		if onDisk != "." {
			inPackage = strings.TrimPrefix(name, onDisk+"/")
		}
		return d.files.readFrom(root, name, path.Join(folder, inPackage))
	}
	for _, name := range []string{path.Join(onDisk, OperatorFileName), path.Join(onDisk, ParamsFileName)} {
		if _, err := root.Lstat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := read(name); err != nil {
			return err
		}
	}
	templates := path.Join(onDisk, templatesFolder)
	return fs.WalkDir(root.FS(), templates, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == templates && errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case name == templates:
			return fmt.Errorf("%s: not a folder", name)
		case !isTemplate(name):
			return nil
		}
		return read(name)
	})
}

// readFrom reads one regular file and adds it under another name.
func (f Files) readFrom(root *os.Root, onDisk, name string) error {
	info, err := root.Lstat(filepath.FromSlash(onDisk))
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name)
	}
	file, err := root.Open(filepath.FromSlash(onDisk))
	if err != nil {
		return err
	}
	defer file.Close()
	return f.add(name, file)
}
