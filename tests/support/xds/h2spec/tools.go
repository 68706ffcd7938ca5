//go:build tools

package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
