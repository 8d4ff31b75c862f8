"""The measurements of a connector, and the original's MBeans computed from them."""
