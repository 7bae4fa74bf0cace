class Holdfast < Formula
  desc "Kubernetes-compatible control plane in which what must not change, cannot"
  homepage "https://holdfast.dev"
  version "{{.Number}}"
  license "Apache-2.0"

  on_macos do
    depends_on arch: :arm64
{{- with .Archive "darwin" "arm64"}}
    url "{{$.URL}}/{{$.Version}}/{{.Name}}"
    sha256 "{{.SHA256}}"
{{- end}}
  end

  on_linux do
    on_intel do
{{- with .Archive "linux" "amd64"}}
      url "{{$.URL}}/{{$.Version}}/{{.Name}}"
      sha256 "{{.SHA256}}"
{{- end}}
    end
    on_arm do
{{- with .Archive "linux" "arm64"}}
      url "{{$.URL}}/{{$.Version}}/{{.Name}}"
      sha256 "{{.SHA256}}"
{{- end}}
    end
  end

  def install
    bin.install "holdfast"
    %w[kubectl-holdfast kubectl-kudo kubectl_complete-holdfast kubectl_complete-kudo].each do |name|
      bin.install_symlink "holdfast" => name
    end
    generate_completions_from_executable(bin/"holdfast", "completion")
  end

  test do
    assert_equal "holdfast v#{version}", shell_output("#{bin}/holdfast --version").strip
  end
end
