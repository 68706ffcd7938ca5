//go:build tools

package tools

import _ "github.com/3scale-ops/marin3r"
