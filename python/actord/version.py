# SPDX-License-Identifier: LGPL-2.1-or-later
__version__ = "0.1.0"
